# Português do Brasil. Tratamento: você.

## Entrar

sign-in-title = Entrar
sign-in-app = { $app } quer usar sua conta.
sign-in-name = Nome ou endereço de e-mail
sign-in-password = Senha
sign-in-button = Entrar
sign-in-wrong = O nome ou a senha não confere. Verifique os dois.
sign-in-disabled = Esta conta está desativada. Fale com quem administra este servidor.
sign-in-too-many =
    Tentativas demais. Tente de novo em { $minutes ->
        [one] um minuto
       *[other] { $minutes } minutos
    }.
sign-in-forgot = Esqueceu sua senha?
sign-in-sign-up = Criar uma conta

## Consentimento

consent-title = Permitir que { $app } use sua conta?
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
consent-push-both = Enviar notificações push a você e ver e mudar as regras delas
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
nav-rules = Todas as regras
nav-try = Testar uma mensagem
nav-security = Segurança
nav-skip = Ir para o conteúdo
notice-saved = Salvo.
notice-not-saved = Nada foi salvo, porque sua sessão já tinha terminado. Tente de novo.
notice-app-removed = Esse aplicativo não tem mais acesso à sua conta.
sign-out-button = Sair
apps-title = Aplicativos com acesso
apps-none = Nenhum aplicativo tem acesso à sua conta.
apps-removal = O aplicativo que você remover perde o acesso na hora. Depois você pode dar acesso a ele de novo.
apps-since = Desde { $date }
apps-remove = Remover acesso
apps-link = Ver e remover aplicativos com acesso
apps-matrix = Clientes Matrix
apps-matrix-note = Aplicativos em que você entrou com sua senha.
apps-issued-note = Acesso emitido por quem administra este servidor.
rules-title = Suas regras de notificação
rules-none = Você não tem regras próprias. As regras internas decidem quais notificações você recebe.
rules-order = Vale a primeira regra que se aplica. As regras são alteradas nos seus aplicativos.
rules-more = Mais regras, que não são mostradas aqui: { $count }. Seus aplicativos mostram todas.
rules-everywhere = Em todos os dispositivos
rules-device = Em dispositivos com o perfil { $tag }
rules-override = Acima de todas as outras
rules-content = Palavras
rules-room = Salas
rules-sender = Pessoas
rules-underride = Quando nenhuma outra se aplica
rules-builtin = Regras internas que você alterou
rules-pattern = Procura { $pattern }
rules-on = Ativa
rules-off = Inativa
rules-notify = Notifica
rules-silent = Em silêncio
rules-sound = Som
rules-highlight = Destaque

## Notifications

## All rules

## Try a message

## Security

## Sign up

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
rate-limited-advice = Espere alguns minutos e tente de novo.
internal-title = Algo deu errado aqui
internal-sentence = O erro é deste servidor, não seu. Ele foi registrado.
internal-advice = Tente de novo daqui a pouco.
not-found-title = Página não encontrada
not-found-sentence = Não há nada neste endereço.
not-found-advice = Confira o endereço ou volte ao aplicativo de onde você veio.

## Erros de uma solicitação de autorização

oauth-error-missing = Falta o parâmetro obrigatório { $parameter }.
oauth-error-repeated = O parâmetro { $parameter } foi enviado mais de uma vez.
oauth-error-not-one-value = O parâmetro { $parameter } deve ser um único valor, não uma lista.
oauth-error-state-too-long = O parâmetro state é longo demais (máximo: { $count } bytes).
oauth-error-too-long = Os parâmetros são longos demais.
oauth-error-invalid-client = Não foi possível autenticar o aplicativo: ele é desconhecido, não enviou credenciais ou usa um método não aceito.
oauth-error-two-authentications = A solicitação autentica o aplicativo de mais de uma forma.
oauth-error-invalid-redirect-uri = A URI de redirecionamento informada não é válida.
oauth-error-unsupported-response-type = O servidor de autorização não aceita este tipo de resposta (response_type).
oauth-error-unsupported-response-mode = O servidor de autorização não aceita este modo de resposta (response_mode).
oauth-error-invalid-scope = A permissão solicitada é inválida, desconhecida ou está mal escrita.
oauth-error-invalid-challenge-method = O parâmetro code_challenge_method deve ser S256.
oauth-error-invalid-challenge = O parâmetro code_challenge deve ser um resumo SHA-256 de 43 caracteres base64url.
oauth-error-access-denied = A pessoa dona da conta ou o servidor de autorização recusou a solicitação.
oauth-error-unsupported-grant-type = O servidor de autorização não aceita este tipo de autorização (grant_type).
oauth-error-invalid-grant = A autorização é inválida, expirou, foi revogada, não corresponde à URI de redirecionamento da solicitação ou foi emitida para outro aplicativo.
oauth-error-unauthorized-revocation = Você não tem permissão para revogar este token

## Erros de um cadastro

validation-failed = A validação falhou: { $problems }
validation-list = { $problems }, { $problem }

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
app-redirect-uri-insecure = A URI de redirecionamento deve ser HTTPS.
app-redirect-uri-too-long = A URI de redirecionamento é longa demais (máximo: { $count } caracteres)
app-scopes = As permissões não correspondem às que o servidor conhece.
app-website-invalid = O site do aplicativo não é uma URL válida
app-website-too-long = O endereço do site do aplicativo é longo demais (máximo: { $count } caracteres)

account-error = { $field } { $problem }
account-field-username = O nome de usuário
account-field-email = O endereço de e-mail
account-field-password = A senha
account-field-agreement = O acordo de serviço
account-blank = não pode ficar em branco
account-name-invalid = deve conter apenas letras minúsculas, números e sublinhados, e pontos ou hífens só no interior
account-email-invalid = não é um endereço de e-mail válido
account-too-long = tem caracteres demais (máximo: { $count })
account-too-short = tem caracteres de menos (mínimo: { $count })
account-password-common = é comum demais; escolha uma que ninguém mais escolheria
account-reserved = não está disponível
account-taken = já está em uso
account-not-accepted = precisa de aceitação
