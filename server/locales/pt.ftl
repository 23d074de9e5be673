# Português do Brasil. Tratamento: você.

## Entrar

sign-in-title = Entrar
sign-in-app = { $app } quer usar sua conta.
sign-in-name = Nome ou endereço de e-mail
sign-in-password = Senha
sign-in-show-password = Mostrar a senha
sign-in-button = Entrar
sign-in-wrong = O nome ou a senha não confere. Verifique os dois.
sign-in-wrong-address = Se você criou a conta aqui, use o nome de usuário em vez do endereço de e-mail.
sign-in-disabled = Esta conta está desativada. Fale com quem administra este servidor.
sign-in-too-many =
    Tentativas demais. Tente de novo em { $minutes ->
        [one] um minuto
       *[other] { $minutes } minutos
    }.
sign-in-forgot = Esqueceu sua senha?
sign-in-forgot-ask = Quem administra este servidor pode dar uma nova a você.
sign-in-sign-up = Criar uma conta
languages = Idioma

## Consentimento

consent-title = Permitir que { $app } use sua conta?
consent-operator-app = Este aplicativo foi adicionado por quem administra este servidor.
consent-local-app = Qualquer aplicação pode usar este nome. Permita apenas se acabou de a abrir neste dispositivo.
consent-account = Sua conta
consent-switch = Usar outra conta
consent-allows = { $app } poderá:
consent-admin-allows = Com suas permissões de administração neste servidor:
consent-then-host = Depois você volta para { $host }.
consent-then-device = Depois você volta para um aplicativo neste dispositivo.
consent-then-code = Depois você verá um código para digitar em { $app }.
consent-allow = Dar acesso a { $app }
consent-deny = Recusar

consent-all-read = Ver tudo na sua conta
consent-all-write = Mudar tudo na sua conta e agir em seu nome
consent-all-both = Ver e mudar tudo na sua conta e agir em seu nome
consent-matrix-both = Usar toda a sua conta de conversas: ler e enviar mensagens e alterar salas, dispositivos e definições
consent-accounts-read = Ver os dados da sua conta
consent-accounts-write = Mudar seu perfil
consent-accounts-both = Ver os dados da sua conta e mudar seu perfil
consent-blocks-read = Ver quem você bloqueia
consent-blocks-write = Bloquear e desbloquear pessoas
consent-blocks-both = Ver e mudar quem você bloqueia
consent-bookmarks-read = Ver seus itens salvos
consent-bookmarks-write = Adicionar e remover itens salvos
consent-bookmarks-both = Ver e mudar seus itens salvos
consent-conversations-write = Silenciar e excluir conversas
consent-favourites-read = Ver seus favoritos
consent-favourites-write = Adicionar e remover favoritos
consent-favourites-both = Ver e mudar seus favoritos
consent-filters-read = Ver seus filtros
consent-filters-write = Mudar seus filtros
consent-filters-both = Ver e mudar seus filtros
consent-follow-both = Ver e mudar quem você segue, bloqueia e silencia
consent-follows-read = Ver quem você segue
consent-follows-write = Seguir e deixar de seguir pessoas
consent-follows-both = Ver e mudar quem você segue
consent-lists-read = Ver suas listas
consent-lists-write = Mudar suas listas
consent-lists-both = Ver e mudar suas listas
consent-media-write = Enviar imagens, sons e vídeos
consent-mutes-read = Ver quem você silencia
consent-mutes-write = Silenciar pessoas e conversas e deixar de silenciá-las
consent-mutes-both = Ver e mudar quem você silencia
consent-notifications-read = Ver suas notificações e as regras delas
consent-notifications-write = Limpar suas notificações e mudar as regras delas
consent-notifications-both = Ver e limpar suas notificações e mudar as regras delas
consent-profile-read = Ver seu nome e seu perfil
consent-push-both = Enviar notificações push a você, ver as mensagens contidas nelas e ver e mudar as regras das notificações
consent-reports-write = Denunciar pessoas e publicações em seu nome
consent-search-read = Pesquisar em seu nome
consent-statuses-read = Ver publicações, inclusive as privadas que você pode ver
consent-statuses-write = Criar, editar e excluir publicações em seu nome
consent-statuses-both = Ver publicações, inclusive as privadas, e criar, editar e excluir publicações em seu nome

consent-admin-all-read = Ver tudo o que só a administração vê
consent-admin-all-write = Mudar tudo o que só a administração muda
consent-admin-all-both = Ver e mudar tudo neste servidor
consent-admin-accounts-read = Ver todas as contas e seus dados privados
consent-admin-accounts-write = Moderar contas
consent-admin-accounts-both = Ver todas as contas e seus dados privados e moderá-las
consent-admin-reports-read = Ver denúncias
consent-admin-reports-write = Tratar denúncias
consent-admin-reports-both = Ver e tratar denúncias
consent-admin-domain_allows-read = Ver quais servidores são permitidos
consent-admin-domain_allows-write = Mudar quais servidores são permitidos
consent-admin-domain_allows-both = Ver e mudar quais servidores são permitidos
consent-admin-domain_blocks-read = Ver quais servidores estão bloqueados
consent-admin-domain_blocks-write = Mudar quais servidores estão bloqueados
consent-admin-domain_blocks-both = Ver e mudar quais servidores estão bloqueados
consent-admin-ip_blocks-read = Ver quais endereços IP estão bloqueados
consent-admin-ip_blocks-write = Mudar quais endereços IP estão bloqueados
consent-admin-ip_blocks-both = Ver e mudar quais endereços IP estão bloqueados
consent-admin-email_domain_blocks-read = Ver quais provedores de e-mail estão bloqueados
consent-admin-email_domain_blocks-write = Mudar quais provedores de e-mail estão bloqueados
consent-admin-email_domain_blocks-both = Ver e mudar quais provedores de e-mail estão bloqueados
consent-admin-canonical_email_blocks-read = Ver quais endereços de e-mail estão bloqueados
consent-admin-canonical_email_blocks-write = Mudar quais endereços de e-mail estão bloqueados
consent-admin-canonical_email_blocks-both = Ver e mudar quais endereços de e-mail estão bloqueados

## O código, para aplicativos que não podem recebê-lo sozinhos

code-title = Seu código para { $app }
code-sentence = Copie este código e digite-o em { $app }.
code-label = Código
code-copy = Copiar
code-copied = Copiado
code-care = Ele vale uma única vez e só por alguns minutos. Não o mostre a mais ninguém.

## De volta ao aplicativo

return-title = De volta a { $app }
return-sentence = Sua resposta está a caminho de { $app }. Se nada acontecer, pressione o botão.
return-button = Continuar para { $app }

## Sua conta

nav-overview = Visão geral
nav-notifications = Notificações
nav-devices = Dispositivos
nav-security = Segurança
nav-skip = Ir para o conteúdo
notice-saved = Salvo.
notice-keyword-muted = Salvo. Esta palavra era uma das suas palavras-chave. Agora está silenciada e não é mais palavra-chave.
notice-word-unmuted = Salvo. Esta palavra estava silenciada. Agora é uma palavra-chave e não está mais silenciada.
notice-removed = Removido.
notice-not-saved = Nada foi salvo, porque sua sessão já tinha terminado. Tente de novo.
notice-signed-out = Sua sessão neste navegador terminou, por exemplo porque sua senha foi alterada ou porque passou muito tempo. Entre de novo.
notice-app-removed = Esse aplicativo não tem mais acesso à sua conta.
pager-position = Página { $page } de { $pages }
pager-previous = Página anterior
pager-next = Próxima página
sign-out-button = Sair
email-change = Mudar o endereço de e-mail
email-add = Adicionar um endereço de e-mail
apps-title = Aplicativos com acesso
apps-none = Nenhum aplicativo tem acesso à sua conta.
apps-removal = O aplicativo que você remover perde o acesso na hora. Depois você pode dar acesso a ele de novo.
apps-since = Desde { $time }
apps-remove = Remover acesso
apps-matrix = Clientes Matrix
apps-matrix-note = Aplicativos em que você entrou com sua senha.
apps-matrix-device-note = Você entrou ali com a sua senha.
apps-command-line = Linha de comando
apps-issued-note = Acesso emitido por quem administra este servidor.

## Notifications

notifications-pause = Pausar tudo
notifications-on = As notificações estão ativadas.
notifications-paused = Tudo está em pausa até você ativar de novo.
notifications-paused-until = Tudo está em pausa até: { $time }.
notifications-pause-hour = Pausar por uma hora
notifications-pause-8-hours = Pausar por 8 horas
notifications-pause-morning = Pausar até as 8h da manhã
notifications-pause-open = Pausar até eu ativar de novo
notifications-resume = Ativar de novo
notifications-utc = Os horários desta página estão em UTC, que pode ser diferente do seu fuso horário. Isso vale também para as 8h da manhã, mas não para as horas de silêncio, que estão no fuso horário que você escolher para elas.
notifications-quiet-sentence = Momentos da semana em que você quer silêncio, como a noite.
notifications-quiet-off = As horas de silêncio estão desativadas.
notifications-quiet-later = As horas de silêncio estão ativadas. Agora não há silêncio.
notifications-quiet-until = Há silêncio até: { $time }.
notifications-quiet-always = Há sempre silêncio.
notifications-quiet-other-rule = Agora há silêncio por causa de horários que um aplicativo definiu. O formulário abaixo não os altera.
notifications-quiet-custom = Um aplicativo definiu horários que esta página não consegue mostrar. Ao salvar, eles são substituídos.
notifications-quiet-days = Começa em
notifications-quiet-monday = Segunda-feira
notifications-quiet-tuesday = Terça-feira
notifications-quiet-wednesday = Quarta-feira
notifications-quiet-thursday = Quinta-feira
notifications-quiet-friday = Sexta-feira
notifications-quiet-saturday = Sábado
notifications-quiet-sunday = Domingo
notifications-quiet-from = Das
notifications-quiet-to = Até
notifications-quiet-to-hint = Se não for depois do começo, é um horário do dia seguinte.
notifications-quiet-zone = Fuso horário
notifications-quiet-zone-hint = Por exemplo America/Sao_Paulo ou UTC
notifications-quiet-level = Quanto silêncio?
notifications-quiet-important = Exceto menções e palavras-chave
notifications-quiet-important-hint = Você continua a ser notificado de menções, palavras-chave e convites, e de pessoas e salas que escolheu. Chamadas e todas as outras mensagens ficam em silêncio.
notifications-quiet-total = Silêncio total
notifications-quiet-total-hint = Nada notifica você, nem mesmo menções.
notifications-quiet-end = Desativar
notifications-devices = Dispositivos
notifications-all-devices = Todos os dispositivos
notifications-device = Estas configurações valem para dispositivos com o perfil { $profile }. Elas vêm antes das de todos os dispositivos.
notifications-more-profiles = Mais perfis de dispositivos, que não são mostrados aqui: { $count }.
notifications-keywords = Palavras-chave
notifications-keywords-sentence = Você é notificado de mensagens com uma destas palavras, a menos que também tenham uma palavra silenciada.
notifications-keywords-none = Você não tem palavras-chave.
notifications-muted-words = Palavras silenciadas
notifications-muted-words-sentence = Uma mensagem com uma palavra silenciada não notifica, a não ser que mencione você ou todos com @room, ou contenha seu nome de exibição.
notifications-muted-words-none = Você não tem palavras silenciadas.
notifications-mute-word = Silenciar uma palavra
notifications-mute = Silenciar
notifications-word = Palavra
notifications-word-hint = Maiúsculas não fazem diferença; * vale por quaisquer caracteres, ? por um.
notifications-sound = Som
notifications-highlight = Destacar
notifications-add-keyword = Adicionar palavra-chave
notifications-save = Salvar
notifications-remove = Remover
notifications-subjects = Pessoas e salas
notifications-subjects-sentence = Uma pessoa ou sala silenciada não notifica, a não ser que uma mensagem mencione você ou todos com @room, ou contenha seu nome de exibição, seu nome de usuário ou uma das suas palavras-chave.
notifications-subjects-none = Você não tem configurações para pessoas ou salas.
notifications-id = Pessoa ou sala
notifications-id-hint = O identificador de uma pessoa, como @nome:servidor, ou de uma sala, como !id:servidor. Um link do seu aplicativo também serve.
notifications-choice = Notificações
notifications-choice-hint = Quando o tempo acaba, a entrada é removida.
notifications-choice-notify = Notificar sempre
notifications-choice-mute = Silenciar até eu mudar
notifications-choice-mute-hour = Silenciar por uma hora
notifications-choice-mute-8-hours = Silenciar por 8 horas
notifications-choice-mute-day = Silenciar por um dia
notifications-choice-mute-week = Silenciar por uma semana
notifications-add = Adicionar
notifications-add-subject = Adicionar uma pessoa ou sala
notifications-people = Pessoas
notifications-rooms = Salas
notifications-off = Desativado
notifications-muted = Silenciado
notifications-silent = Silenciado, também menções
notifications-notifies = Notifica sempre
notifications-until = Até: { $time }
notifications-switches = O que notifica você
notifications-switches-sentence = Isto vale quando nenhuma das suas configurações se aplica.
notifications-messages = Mensagens
notifications-mentions = Menções
notifications-calls = Chamadas e convites
notifications-rare = Bots, edições, reações e mudanças nas salas
notifications-rare-sentence = Você é notificado de reações e mudanças nas salas também em salas silenciadas.
notifications-switch-on = Sim
notifications-switch-partly = Em parte
notifications-switch-off = Não
notifications-switch-one-to-one = Notificar-me de mensagens em salas com uma só outra pessoa
notifications-switch-group = Notificar-me de mensagens em todas as outras salas
notifications-switch-bots = Notificar-me de mensagens de bots
notifications-switch-edits = Notificar-me quando uma mensagem é editada
notifications-switch-reactions = Notificar-me de reações
notifications-switch-mention = Notificar-me quando alguém me menciona
notifications-switch-display-name = Notificar-me quando uma mensagem contém meu nome de exibição
notifications-switch-user-name = Notificar-me quando uma mensagem contém meu nome de usuário
notifications-switch-room-mention = Notificar-me quando alguém menciona todos de uma sala com @room
notifications-switch-call = Notificar-me quando alguém me liga
notifications-switch-invitation = Notificar-me quando alguém me convida para uma sala
notifications-switch-upgrade = Notificar-me quando uma sala é substituída por uma nova
notifications-switch-members = Notificar-me quando pessoas entram, saem ou mudam de nome
notifications-switch-servers = Notificar-me quando mudam os servidores permitidos em uma sala
notifications-error-word-blank = Digite uma palavra.
notifications-error-word-too-long = Esta palavra é longa demais. Digite uma mais curta.
notifications-error-id-blank = Digite o identificador de uma pessoa ou de uma sala.
notifications-error-id-too-long = Isto é longo demais para um identificador. Confira.
notifications-error-room-alias = Este é o endereço de uma sala, não o identificador. O identificador começa com !; seu aplicativo o mostra nas configurações da sala.
notifications-error-person-without-server = Falta o servidor. O identificador de uma pessoa é assim: @nome:servidor
notifications-error-id-invalid = Isto não é um identificador. O de uma pessoa é como @nome:servidor, o de uma sala como !id:servidor.
notifications-error-text-blank = Digite uma mensagem.
notifications-error-quiet-days-missing = Escolha pelo menos um dia.
notifications-error-quiet-time-invalid = Digite dois horários, por exemplo 22:00 e 07:00.
notifications-error-quiet-zone-unknown = Este servidor não conhece este fuso horário. Um fuso horário é como America/Sao_Paulo.
notifications-error-quiet-changed = As horas de silêncio foram alteradas nesse meio-tempo, talvez em outra aba ou aplicativo. Nada foi salvo. Aqui você as vê como estão agora.
notifications-error-too-many = Você tem tantas regras quanto este servidor permite ({ $count }). Remova algumas antes.
notifications-error-too-large = Suas regras ocupam todo o espaço que este servidor permite. Remova algumas antes.
notifications-error-changed = { $name } foi alterado nesse meio-tempo, talvez em outra aba ou aplicativo. Nada foi salvo. Aqui você vê como está agora.
notifications-error-removed = { $name } foi removido nesse meio-tempo, talvez em outra aba ou aplicativo. Nada foi salvo.
notifications-error-other = Não foi possível salvar. Confira o que você digitou.

## Devices

devices-intro = Aplicativos e navegadores que recebem suas notificações.
devices-off = Este servidor não envia notificações a dispositivos.
devices-none = Nenhum dispositivo recebe suas notificações ainda. Entre com um aplicativo em um dispositivo e ative as notificações nele. Então o dispositivo aparece aqui.
devices-mastodon = Aplicativo do Mastodon, por { $host }
devices-gateway = Aplicativo do Matrix, pelo gateway { $host }
devices-web-push = Aplicativo do Matrix, por { $host }
devices-waiting = Aguardando a confirmação do aplicativo
devices-disabled = Desativado no aplicativo
devices-delivered = Última entrega: { $time }
devices-failed = Última tentativa falhou: { $time }
devices-test = Enviar um teste
devices-test-body = As notificações chegam a este dispositivo.
devices-error-unreachable = Não é possível contatar o serviço de notificações.
devices-error-timeout = O serviço de notificações não respondeu a tempo.
devices-error-denied = O serviço de notificações não aceita mensagens deste servidor.
devices-error-busy = O serviço de notificações está sobrecarregado e pede que este servidor espere.
devices-error-rejected = O serviço de notificações rejeitou a mensagem (status { $status }).
devices-error-status = O serviço de notificações informa um erro (status { $status }).
devices-error-gone = O serviço de notificações não conhece mais este dispositivo.
devices-error-other = A mensagem não pôde ser enviada.
deliveries-title = Últimas entregas
deliveries-tests = Últimos testes
deliveries-test = Teste
deliveries-ack = Pedido para confirmar o dispositivo
deliveries-counts = Número no ícone do aplicativo
deliveries-other = Notificação
deliveries-former-device = Um dispositivo que não está mais na lista
deliveries-waiting = Esperando desde: { $time }
deliveries-next = Próxima tentativa: { $time }
deliveries-delivered = Entregue: { $time }
deliveries-dropped = Não entregue: { $time }
deliveries-expired = Não entregue a tempo: { $time }
deliveries-removed = Não entregue, porque o dispositivo foi removido: { $time }
deliveries-read = Não era mais necessária, porque foi lida em outro lugar: { $time }
deliveries-replaced = Substituída por uma mais recente: { $time }

## Rules of apps, and titles of rules

notifications-rules = Regras de aplicativos
notifications-rules-sentence = Estas regras foram criadas por aplicativos, e as configurações acima não conseguem mostrá-las.
rules-about-word = Mensagens com a palavra { $word }
rules-about-room = Mensagens na sala { $room }
rules-about-sender = Mensagens de { $sender }
rules-about-other = Regra com condições próprias
rules-about-quiet-hours = Horas de silêncio
rules-about-suppress-notices = Mensagens de bots
rules-about-invite-for-me = Convites para salas
rules-about-member-event = Pessoas que entram, saem ou mudam de nome
rules-about-is-user-mention = Mensagens que mencionam você
rules-about-contains-display-name = Mensagens com seu nome de exibição
rules-about-is-room-mention = Mensagens que mencionam todos de uma sala
rules-about-roomnotif = Mensagens com @room no texto
rules-about-tombstone = Salas substituídas por uma nova
rules-about-reaction = Reações
rules-about-room-server-acl = Mudanças dos servidores permitidos em uma sala
rules-about-suppress-edits = Edições de mensagens
rules-about-contains-user-name = Mensagens com seu nome de usuário
rules-about-call = Chamadas
rules-about-encrypted-room-one-to-one = Mensagens criptografadas em salas com uma só outra pessoa
rules-about-room-one-to-one = Mensagens em salas com uma só outra pessoa
rules-about-message = Mensagens em todas as outras salas
rules-about-encrypted = Mensagens criptografadas em todas as outras salas
rules-notify = Notifica
rules-silent = Em silêncio
rules-delete = Excluir
rules-delete-effect = Uma regra excluída não pode ser recuperada.

## Try a message

try-title = Testar uma mensagem
try-intro = Veja o que suas regras fazem com uma mensagem. Nada é enviado nem salvo.
try-text = Mensagem
try-sender = De
try-sender-hint = Opcional: um nome neste servidor ou um identificador como @nome:servidor.
try-chat = Onde
try-group = Em um grupo
try-direct = Em uma conversa direta com você
try-button = Testar
try-notify = Você receberia uma notificação, { $reason }.
try-sound = Você receberia uma notificação com som, { $reason }.
try-silent = Você não receberia notificação, { $reason }.
try-because-own = porque é sua própria mensagem
try-because-no-rule = porque nenhuma regra se aplica
try-because-paused = porque tudo está em pausa
try-because-quiet = porque são horas de silêncio
try-because-switched-on = porque “{ $name }” está ativado
try-because-switched-off = porque você desativou “{ $name }”
try-because-keyword = por causa da sua palavra-chave { $name }
try-because-muted-word = porque você silenciou a palavra { $name }
try-because-sender = por causa da sua regra para { $name }
try-because-muted-sender = porque você silenciou { $name }
try-because-rule = por causa da sua regra { $name }

## Security

deletion-pending = Sua conta será excluída: { $time }.
deletion-keep = Manter minha conta
password-effect = Uma senha nova encerra o acesso em todos os outros navegadores e em todos os aplicativos. Aqui você continua na sua conta.
password-current = Senha atual
password-new = Senha nova
password-again = Repita a senha nova
password-button = Mudar a senha
password-wrong = Essa não é a sua senha.
password-hint = Pelo menos { $count } caracteres, e não uma senha comum
password-different = As duas senhas são diferentes.
email-verified = Você pode entrar com este endereço. Depois de uma mudança, você entra só com o nome de usuário.
sessions-title = Onde sua conta está aberta
sessions-this = Este navegador
sessions-browser = { $browser } em { $system }
sessions-unknown = Navegador desconhecido
sessions-since = Aberta em { $time }
sessions-more = Mais navegadores
sessions-others = Sair em todos os outros
used-recently = Usado na última hora
used-hours =
    Último uso há { $count ->
        [one] uma hora
       *[other] { $count } horas
    }
used-days =
    Último uso há { $count ->
        [one] um dia
       *[other] { $count } dias
    }
used-never = Ainda não usado
tokens-count =
    { $count ->
        [one] Um acesso
       *[other] { $count } acessos
    }
only-last-used =
    { $count ->
        [one] Aqui aparece só o usado por último.
       *[other] Aqui aparecem só os { $count } usados por último.
    }
data-title = Seus dados
data-content = Um arquivo com sua conta, seus aplicativos, sessões, dispositivos e regras de notificação, e um registro do que aconteceu na sua conta. Não contém senhas.
data-button = Baixar meus dados
delete-title = Excluir sua conta
delete-effect = Sua conta é excluída depois de um dia, com seus aplicativos e regras de notificação. Até lá você pode mudar de ideia. Ninguém mais pode se registrar com o seu nome.
delete-button = Excluir minha conta
delete-last-admin = Só você administra este servidor. Antes, dê esse papel a outra pessoa.
notice-token-revoked = O aplicativo saiu da sua conta ali.
notice-password-changed = Sua senha foi mudada. Todos os outros navegadores e todos os aplicativos saíram da sua conta.
notice-email-changed = Seu endereço de e-mail está atualizado.
notice-session-ended = Aquele navegador saiu da sua conta.
notice-sessions-ended = Todos os outros navegadores saíram da sua conta.
notice-deletion-cancelled = Sua conta continua.
notice-test-sent = O teste está a caminho. A lista abaixo mostra se ele chegou; recarregue a página para atualizá-la.
notice-test-not-sent = Nenhum teste foi enviado: o dispositivo não recebe mensagens no momento, ou há mensagens demais esperando por ele.

## Sign up

sign-up-name = Nome de usuário
sign-up-name-hint = Letras minúsculas de a a z, números e sublinhados; no meio, também pontos e hífens. Não dá para mudar depois.
sign-up-email = Endereço de e-mail
sign-up-email-hint = Opcional. Quem administra este servidor pode falar com você por ele. Para entrar, use o nome de usuário.
sign-up-again = Repita a senha
sign-up-agreement = Vou seguir as regras deste servidor.
sign-up-rules = Ler as regras
sign-up-button = Criar minha conta
field-username-blank = Escolha um nome de usuário.
field-username-name-invalid = Use só letras minúsculas de a a z, números e sublinhados. No meio pode haver pontos e hífens.
field-username-too-long = Escolha um nome de usuário de no máximo { $count } caracteres.
field-username-reserved = Este nome de usuário é reservado. Escolha outro.
field-username-taken = Este nome de usuário já está em uso. Escolha outro.
field-email-email-invalid = Verifique o endereço. Ele deve ser parecido com nome@example.org.
field-email-too-long = Digite um endereço de no máximo { $count } caracteres.
field-password-blank = Escolha uma senha.
field-password-too-short = Escolha uma senha de pelo menos { $count } caracteres.
field-password-too-long = Escolha uma senha de no máximo { $count } caracteres.
field-password-password-common = Esta senha é fácil de adivinhar. Escolha outra.
field-agreement-not-accepted = Aceite as regras deste servidor.
sign-up-sign-in = Já tenho uma conta
registration-closed-title = Sem contas novas
registration-closed-sentence = Este servidor não aceita contas novas.
registration-closed-advice = Fale com quem administra este servidor.

## Front page

front-title = Boas-vindas
front-sentence = Aqui você decide quais aplicativos podem usar sua conta e quais mensagens notificam você.
front-signed-in = Você entrou como { $account }.
front-account = Ir para sua conta
front-developers = Para desenvolvedores
front-developers-sentence = Os aplicativos se conectam a este servidor com OAuth 2.0 e com as APIs do Mastodon e do Matrix.
front-api = Descrição da API (OpenAPI)
front-documentation = Documentação

## Sessão encerrada

signed-out-title = Você saiu da conta
signed-out-sentence = Você pode fechar esta página.
signed-out-button = Entrar de novo

## O que pode dar errado

invalid-request-title = Não é possível responder a esta solicitação
invalid-request-advice = Volte ao aplicativo e tente de novo. Se acontecer outra vez, avise quem desenvolve o aplicativo.
malformed-sentence = Este servidor não conseguiu ler o que foi enviado.
app-error-unknown = Este servidor não conhece o aplicativo que mandou você para cá, ou não o permite mais.
app-error-redirect-uri = O aplicativo quer mandar você para um endereço que ele não registrou aqui.
app-error-scope = O aplicativo pede permissões que não pode receber aqui.
app-error-request = O pedido do aplicativo está incompleto ou errado.
app-error-details = Para quem desenvolve o aplicativo:
denied-title = Acesso recusado
denied-sentence = O aplicativo não recebeu acesso. Nada seu foi compartilhado.
denied-advice = Você pode fechar esta página.
expired-title = Esta solicitação não está mais aberta
expired-sentence = Ela já foi respondida, ou passou tempo demais.
expired-advice = Volte ao aplicativo e comece de novo.
forged-form-title = Não foi possível verificar este formulário
forged-form-sentence = Talvez você tenha entrado ou saído em outra aba, ou seu navegador não enviou o cookie deste servidor.
forged-form-advice = Permita os cookies deste servidor, volte e tente de novo.
rate-limited-title = Solicitações demais
rate-limited-sentence = Este servidor recebeu solicitações demais de você em pouco tempo.
rate-limited-advice =
    Tente de novo em { $minutes ->
        [one] um minuto
       *[other] { $minutes } minutos
    }.
internal-title = Algo deu errado aqui
internal-sentence = O erro é deste servidor, não seu. Ele foi registrado.
internal-advice = Tente de novo daqui a pouco.
busy-title = Este servidor está ocupado
busy-sentence = Ele não consegue responder agora. Seu pedido não estava errado.
busy-advice = Tente de novo daqui a pouco.
not-found-title = Página não encontrada
not-found-sentence = Não há nada neste endereço.
not-found-advice = Confira o endereço ou volte ao aplicativo de onde você veio.

## Erros de um cadastro

validation-failed = A validação falhou: { $errors }
validation-list = { $errors }, { $error }

app-name-blank = O nome do aplicativo não pode ficar em branco
app-name-invalid = O nome do aplicativo não é válido
app-name-too-long = O nome do aplicativo é longo demais (máximo: { $count } caracteres)
app-redirect-uri-blank = A URI de redirecionamento não pode ficar em branco
app-redirect-uri-forbidden = O servidor não permite esta URI de redirecionamento.
app-redirect-uri-invalid = A URI de redirecionamento deve ser uma URI válida.
app-redirect-uri-relative = A URI de redirecionamento deve ser uma URI absoluta.
app-redirect-uri-opaque = A URI de redirecionamento deve indicar um esquema.
app-redirect-uri-fragment = A URI de redirecionamento não pode conter um fragmento.
app-redirect-uri-user-info = A URI de redirecionamento não pode conter nome de usuário nem senha.
app-redirect-uri-wildcard = A URI de redirecionamento não pode conter um curinga.
app-redirect-uri-insecure = A URI de redirecionamento deve ser HTTPS (http só é permitido para localhost).
app-redirect-uri-too-long = A URI de redirecionamento é longa demais (máximo: { $count } caracteres)
app-scopes = As permissões não correspondem às que o servidor conhece.
app-unknown-scope = As permissões não correspondem às que o servidor conhece: { $scope } é desconhecida (scopes_supported, /.well-known/oauth-authorization-server).
app-website-invalid = O site do aplicativo não é uma URL válida
app-website-too-long = O endereço do site do aplicativo é longo demais (máximo: { $count } caracteres)
app-auth-method = O método de autenticação do aplicativo (token_endpoint_auth_method) deve ser client_secret_basic ou client_secret_post (aplicativos públicos sem segredo não são aceitos: registre cada instalação do aplicativo para obter seu próprio segredo)

account-error = { $field } { $error }
account-field-username = O nome de usuário
account-field-email = O endereço de e-mail
account-field-password = A senha
account-field-agreement = O acordo de serviço
account-blank = não pode ficar em branco
account-name-invalid = deve conter apenas letras minúsculas, números e sublinhados, e pontos ou hífens só no interior
account-email-invalid = não é um endereço de e-mail válido
account-too-long = tem caracteres demais (máximo: { $count })
account-too-short = tem caracteres de menos (mínimo: { $count })
account-password-common = é fácil demais de adivinhar; escolha outra
account-reserved = não está disponível
account-taken = já está em uso
account-not-accepted = precisa de aceitação
