# Español. Tratamiento: tú.

## Iniciar sesión

sign-in-title = Iniciar sesión
sign-in-app = { $app } quiere usar tu cuenta.
sign-in-name = Nombre o correo electrónico
sign-in-password = Contraseña
sign-in-show-password = Mostrar la contraseña
sign-in-button = Iniciar sesión
sign-in-wrong = El nombre o la contraseña no son correctos. Revisa ambos.
sign-in-wrong-address = Si te registraste aquí, usa el nombre de usuario en lugar de la dirección de correo.
sign-in-disabled = Esta cuenta está desactivada. Ponte en contacto con quienes gestionan este servidor.
sign-in-too-many =
    Demasiados intentos. Vuelve a intentarlo en { $minutes ->
        [one] un minuto
       *[other] { $minutes } minutos
    }.
sign-in-forgot = ¿Has olvidado tu contraseña?
sign-in-forgot-ask = Quienes gestionan este servidor pueden darte una nueva.
sign-in-sign-up = Crear una cuenta
languages = Idioma

## Consentimiento

consent-title = ¿Permitir que { $app } use tu cuenta?
consent-operator-app = Quienes gestionan este servidor han añadido esta aplicación.
consent-local-app = Cualquier aplicación puede usar este nombre. Permítelo solo si acabas de abrirla tú en este dispositivo.
consent-account = Tu cuenta
consent-switch = Usar otra cuenta
consent-allows = { $app } podrá:
consent-admin-allows = Con tus permisos de administración en este servidor:
consent-then-host = Después volverás a { $host }.
consent-then-device = Después volverás a una aplicación de este dispositivo.
consent-then-code = Después verás un código para introducir en { $app }.
consent-allow = Dar acceso a { $app }
consent-deny = Rechazar

consent-all-read = Ver todo en tu cuenta
consent-all-write = Cambiar todo en tu cuenta y actuar en tu nombre
consent-all-both = Ver y cambiar todo en tu cuenta, y actuar en tu nombre
consent-matrix-both = Usar toda tu cuenta de chat: leer y enviar mensajes, y cambiar salas, dispositivos y ajustes
consent-accounts-read = Ver los datos de tu cuenta
consent-accounts-write = Cambiar tu perfil
consent-accounts-both = Ver los datos de tu cuenta y cambiar tu perfil
consent-blocks-read = Ver a quién bloqueas
consent-blocks-write = Bloquear y desbloquear a personas
consent-blocks-both = Ver y cambiar a quién bloqueas
consent-bookmarks-read = Ver tus marcadores
consent-bookmarks-write = Añadir y quitar marcadores
consent-bookmarks-both = Ver y cambiar tus marcadores
consent-conversations-write = Silenciar y eliminar conversaciones
consent-favourites-read = Ver tus favoritos
consent-favourites-write = Añadir y quitar favoritos
consent-favourites-both = Ver y cambiar tus favoritos
consent-filters-read = Ver tus filtros
consent-filters-write = Cambiar tus filtros
consent-filters-both = Ver y cambiar tus filtros
consent-follow-both = Ver y cambiar a quién sigues, bloqueas y silencias
consent-follows-read = Ver a quién sigues
consent-follows-write = Seguir y dejar de seguir a personas
consent-follows-both = Ver y cambiar a quién sigues
consent-lists-read = Ver tus listas
consent-lists-write = Cambiar tus listas
consent-lists-both = Ver y cambiar tus listas
consent-media-write = Subir imágenes, sonidos y vídeos
consent-mutes-read = Ver a quién silencias
consent-mutes-write = Silenciar personas y conversaciones, y dejar de silenciarlas
consent-mutes-both = Ver y cambiar a quién silencias
consent-notifications-read = Ver tus notificaciones y sus reglas
consent-notifications-write = Borrar tus notificaciones y cambiar sus reglas
consent-notifications-both = Ver y borrar tus notificaciones, y cambiar sus reglas
consent-profile-read = Ver tu nombre y tu perfil
consent-push-both = Enviarte notificaciones push, ver los mensajes que contienen, y ver y cambiar las reglas de las notificaciones
consent-reports-write = Denunciar a personas y publicaciones en tu nombre
consent-search-read = Buscar en tu nombre
consent-statuses-read = Ver publicaciones, incluidas las privadas que puedes ver
consent-statuses-write = Publicar, editar y eliminar publicaciones en tu nombre
consent-statuses-both = Ver publicaciones, incluidas las privadas, y crearlas, editarlas y eliminarlas en tu nombre

consent-admin-all-read = Ver todo lo que solo ve la administración
consent-admin-all-write = Cambiar todo lo que solo cambia la administración
consent-admin-all-both = Ver y cambiar todo en este servidor
consent-admin-accounts-read = Ver todas las cuentas y sus datos privados
consent-admin-accounts-write = Moderar cuentas
consent-admin-accounts-both = Ver todas las cuentas y sus datos privados, y moderarlas
consent-admin-reports-read = Ver las denuncias
consent-admin-reports-write = Resolver las denuncias
consent-admin-reports-both = Ver y resolver las denuncias
consent-admin-domain_allows-read = Ver qué servidores están permitidos
consent-admin-domain_allows-write = Cambiar qué servidores están permitidos
consent-admin-domain_allows-both = Ver y cambiar qué servidores están permitidos
consent-admin-domain_blocks-read = Ver qué servidores están bloqueados
consent-admin-domain_blocks-write = Cambiar qué servidores están bloqueados
consent-admin-domain_blocks-both = Ver y cambiar qué servidores están bloqueados
consent-admin-ip_blocks-read = Ver qué direcciones IP están bloqueadas
consent-admin-ip_blocks-write = Cambiar qué direcciones IP están bloqueadas
consent-admin-ip_blocks-both = Ver y cambiar qué direcciones IP están bloqueadas
consent-admin-email_domain_blocks-read = Ver qué proveedores de correo están bloqueados
consent-admin-email_domain_blocks-write = Cambiar qué proveedores de correo están bloqueados
consent-admin-email_domain_blocks-both = Ver y cambiar qué proveedores de correo están bloqueados
consent-admin-canonical_email_blocks-read = Ver qué direcciones de correo están bloqueadas
consent-admin-canonical_email_blocks-write = Cambiar qué direcciones de correo están bloqueadas
consent-admin-canonical_email_blocks-both = Ver y cambiar qué direcciones de correo están bloqueadas

## El código, para aplicaciones que no pueden recibirlo por sí mismas

code-title = Tu código para { $app }
code-sentence = Copia este código e introdúcelo en { $app }.
code-label = Código
code-copy = Copiar
code-copied = Copiado
code-care = Sirve una sola vez y solo durante unos minutos. No se lo muestres a nadie más.

## De vuelta a la aplicación

return-title = De vuelta a { $app }
return-sentence = Tu respuesta va de camino a { $app }. Si no ocurre nada, pulsa el botón.
return-button = Continuar a { $app }

## Tu cuenta

nav-overview = Resumen
nav-notifications = Notificaciones
nav-devices = Dispositivos
nav-security = Seguridad
nav-skip = Ir al contenido
notice-saved = Guardado.
notice-keyword-muted = Guardado. Esta palabra era una de tus palabras clave. Ahora está silenciada y ya no es palabra clave.
notice-word-unmuted = Guardado. Esta palabra estaba silenciada. Ahora es una palabra clave y ya no está silenciada.
notice-removed = Eliminado.
notice-not-saved = No se ha guardado nada, porque ya no tenías la sesión iniciada. Inténtalo de nuevo.
notice-signed-out = Tu sesión en este navegador ha terminado, por ejemplo porque se ha cambiado tu contraseña o ha pasado mucho tiempo. Vuelve a iniciar sesión.
notice-app-removed = Esa aplicación ya no tiene acceso a tu cuenta.
pager-position = Página { $page } de { $pages }
pager-previous = Página anterior
pager-next = Página siguiente
sign-out-button = Cerrar sesión
email-change = Cambiar el correo electrónico
email-add = Añadir un correo electrónico
apps-title = Aplicaciones con acceso
apps-none = Ninguna aplicación tiene acceso a tu cuenta.
apps-removal = La aplicación que quites pierde el acceso de inmediato. Más adelante puedes volver a dárselo.
apps-since = Desde el { $time }
apps-remove = Quitar el acceso
apps-matrix = Clientes de Matrix
apps-matrix-note = Aplicaciones en las que iniciaste sesión con tu contraseña.
apps-matrix-device-note = Allí iniciaste sesión con tu contraseña.
apps-command-line = Línea de comandos
apps-issued-note = Acceso emitido por quienes gestionan este servidor.

## Notifications

notifications-pause = Pausar todo
notifications-on = Las notificaciones están activadas.
notifications-paused = Todo está en pausa hasta que lo vuelvas a activar.
notifications-paused-until = Todo está en pausa hasta: { $time }.
notifications-pause-hour = Pausar durante una hora
notifications-pause-8-hours = Pausar durante 8 horas
notifications-pause-morning = Pausar hasta las 8:00 de la mañana
notifications-pause-open = Pausar hasta que lo vuelva a activar
notifications-resume = Volver a activar
notifications-utc = Las horas de esta página están en UTC, que puede diferir de tu zona horaria. Esto vale también para las 8:00 de la mañana, pero no para las horas de silencio, que están en la zona horaria que elijas para ellas.
notifications-quiet-sentence = Momentos de la semana en los que quieres silencio, como la noche.
notifications-quiet-off = Las horas de silencio están desactivadas.
notifications-quiet-later = Las horas de silencio están activadas. Ahora mismo no hay silencio.
notifications-quiet-until = Hay silencio hasta: { $time }.
notifications-quiet-always = Siempre hay silencio.
notifications-quiet-other-rule = Ahora hay silencio por unas horas que ha fijado una aplicación. El formulario de abajo no las cambia.
notifications-quiet-custom = Una aplicación ha fijado horas que esta página no puede mostrar. Al guardar se sustituyen.
notifications-quiet-days = Empieza el
notifications-quiet-monday = Lunes
notifications-quiet-tuesday = Martes
notifications-quiet-wednesday = Miércoles
notifications-quiet-thursday = Jueves
notifications-quiet-friday = Viernes
notifications-quiet-saturday = Sábado
notifications-quiet-sunday = Domingo
notifications-quiet-from = Desde
notifications-quiet-to = Hasta
notifications-quiet-to-hint = Si no es posterior al comienzo, es una hora del día siguiente.
notifications-quiet-zone = Zona horaria
notifications-quiet-zone-hint = Por ejemplo Europe/Madrid o UTC
notifications-quiet-level = ¿Cuánto silencio?
notifications-quiet-important = Salvo menciones y palabras clave
notifications-quiet-important-hint = Se te sigue avisando de menciones, palabras clave e invitaciones, y de las personas y salas que hayas elegido. Las llamadas y los demás mensajes no avisan.
notifications-quiet-total = Silencio total
notifications-quiet-total-hint = No se te avisa de nada, ni siquiera de menciones.
notifications-quiet-end = Desactivar
notifications-devices = Dispositivos
notifications-all-devices = Todos los dispositivos
notifications-device = Estos ajustes son para dispositivos con el perfil { $profile }. Cuentan antes que los de todos los dispositivos.
notifications-more-profiles = Más perfiles de dispositivos que no se muestran aquí: { $count }.
notifications-keywords = Palabras clave
notifications-keywords-sentence = Se te avisa de un mensaje con una de estas palabras, salvo que también tenga una palabra silenciada.
notifications-keywords-none = No tienes palabras clave.
notifications-muted-words = Palabras silenciadas
notifications-muted-words-sentence = Un mensaje con una palabra silenciada no avisa, salvo si te menciona, menciona a todos con @room o contiene tu nombre visible.
notifications-muted-words-none = No tienes palabras silenciadas.
notifications-mute-word = Silenciar una palabra
notifications-mute = Silenciar
notifications-word = Palabra
notifications-word-hint = No importan las mayúsculas; * vale por cualquier texto y ? por un carácter.
notifications-sound = Sonido
notifications-highlight = Destacar
notifications-add-keyword = Añadir palabra clave
notifications-save = Guardar
notifications-remove = Eliminar
notifications-subjects = Personas y salas
notifications-subjects-sentence = Una persona o sala silenciada no avisa, salvo si un mensaje te menciona, menciona a todos con @room o contiene tu nombre visible, tu nombre de usuario o una de tus palabras clave.
notifications-subjects-none = No tienes ajustes para personas o salas.
notifications-id = Persona o sala
notifications-id-hint = El identificador de una persona, como @nombre:servidor, o de una sala, como !id:servidor. También sirve un enlace de tu aplicación.
notifications-choice = Notificaciones
notifications-choice-hint = Cuando pasa el tiempo, la entrada se elimina.
notifications-choice-notify = Avisar siempre
notifications-choice-mute = Silenciar hasta que lo cambie
notifications-choice-mute-hour = Silenciar una hora
notifications-choice-mute-8-hours = Silenciar 8 horas
notifications-choice-mute-day = Silenciar un día
notifications-choice-mute-week = Silenciar una semana
notifications-add = Añadir
notifications-add-subject = Añadir una persona o sala
notifications-people = Personas
notifications-rooms = Salas
notifications-off = Desactivado
notifications-muted = Silenciado
notifications-silent = Silenciado, también las menciones
notifications-notifies = Avisa siempre
notifications-until = Hasta: { $time }
notifications-switches = De qué se te avisa
notifications-switches-sentence = Esto vale cuando ninguno de tus ajustes se cumple.
notifications-messages = Mensajes
notifications-mentions = Menciones
notifications-calls = Llamadas e invitaciones
notifications-rare = Bots, ediciones, reacciones y cambios en las salas
notifications-rare-sentence = De las reacciones y los cambios en las salas se te avisa también en las salas silenciadas.
notifications-switch-on = Sí
notifications-switch-partly = En parte
notifications-switch-off = No
notifications-switch-one-to-one = Avisarme de los mensajes en salas con otra persona
notifications-switch-group = Avisarme de los mensajes en todas las demás salas
notifications-switch-bots = Avisarme de los mensajes de bots
notifications-switch-edits = Avisarme cuando se edita un mensaje
notifications-switch-reactions = Avisarme de las reacciones
notifications-switch-mention = Avisarme cuando alguien me menciona
notifications-switch-display-name = Avisarme cuando un mensaje contiene mi nombre visible
notifications-switch-user-name = Avisarme cuando un mensaje contiene mi nombre de usuario
notifications-switch-room-mention = Avisarme cuando alguien menciona a toda una sala con @room
notifications-switch-call = Avisarme cuando alguien me llama
notifications-switch-invitation = Avisarme cuando alguien me invita a una sala
notifications-switch-upgrade = Avisarme cuando una sala es sustituida por otra nueva
notifications-switch-members = Avisarme cuando alguien entra, sale o cambia de nombre
notifications-switch-servers = Avisarme cuando cambian los servidores admitidos en una sala
notifications-error-word-blank = Escribe una palabra.
notifications-error-word-too-long = Esta palabra es demasiado larga. Escribe una más corta.
notifications-error-id-blank = Escribe el identificador de una persona o de una sala.
notifications-error-id-too-long = Es demasiado largo para un identificador. Compruébalo.
notifications-error-room-alias = Esta es la dirección de una sala, no su identificador. El identificador empieza por !; tu aplicación lo muestra en los ajustes de la sala.
notifications-error-person-without-server = Falta el servidor. El identificador de una persona es así: @nombre:servidor
notifications-error-id-invalid = Esto no es un identificador. El de una persona es como @nombre:servidor, el de una sala como !id:servidor.
notifications-error-text-blank = Escribe un mensaje.
notifications-error-quiet-days-missing = Elige al menos un día.
notifications-error-quiet-time-invalid = Escribe dos horas, por ejemplo 22:00 y 07:00.
notifications-error-quiet-zone-unknown = Este servidor no conoce esta zona horaria. Una zona horaria es como Europe/Madrid.
notifications-error-quiet-changed = Las horas de silencio se han cambiado entretanto, quizá en otra pestaña o aplicación. No se ha guardado nada. Aquí las ves como están ahora.
notifications-error-too-many = Tienes tantas reglas como permite este servidor ({ $count }). Elimina antes algunas.
notifications-error-too-large = Tus reglas ocupan todo el espacio que permite este servidor. Elimina antes algunas.
notifications-error-changed = { $name } ha cambiado entretanto, quizá en otra pestaña o aplicación. No se ha guardado nada. Aquí ves cómo está ahora.
notifications-error-removed = { $name } se ha eliminado entretanto, quizá en otra pestaña o aplicación. No se ha guardado nada.
notifications-error-other = No se ha podido guardar. Comprueba lo que has escrito.

## Devices

devices-intro = Aplicaciones y navegadores que reciben tus notificaciones.
devices-off = Este servidor no envía notificaciones a dispositivos.
devices-none = Ningún dispositivo recibe todavía tus notificaciones. Inicia sesión con una aplicación en un dispositivo y activa allí las notificaciones. Entonces el dispositivo aparecerá aquí.
devices-mastodon = Aplicación de Mastodon, a través de { $host }
devices-gateway = Aplicación de Matrix, a través de la pasarela { $host }
devices-web-push = Aplicación de Matrix, a través de { $host }
devices-waiting = A la espera de que la aplicación confirme
devices-disabled = Desactivado en la aplicación
devices-delivered = Última entrega: { $time }
devices-failed = Último intento fallido: { $time }
devices-test = Enviar una prueba
devices-test-body = Las notificaciones llegan a este dispositivo.
devices-error-unreachable = No se puede contactar con el servicio de notificaciones.
devices-error-timeout = El servicio de notificaciones no ha respondido a tiempo.
devices-error-denied = El servicio de notificaciones no acepta mensajes de este servidor.
devices-error-busy = El servicio de notificaciones está saturado y pide a este servidor que espere.
devices-error-rejected = El servicio de notificaciones ha rechazado el mensaje (estado { $status }).
devices-error-status = El servicio de notificaciones comunica un error (estado { $status }).
devices-error-gone = El servicio de notificaciones ya no conoce este dispositivo.
devices-error-other = No se ha podido enviar el mensaje.
deliveries-title = Últimas entregas
deliveries-tests = Últimas pruebas
deliveries-test = Prueba
deliveries-ack = Petición de confirmar el dispositivo
deliveries-counts = Número en el icono de la aplicación
deliveries-other = Notificación
deliveries-former-device = Un dispositivo que ya no está en la lista
deliveries-waiting = En espera desde: { $time }
deliveries-next = Próximo intento: { $time }
deliveries-delivered = Entregado: { $time }
deliveries-dropped = No entregado: { $time }
deliveries-expired = No entregado a tiempo: { $time }
deliveries-removed = No entregado, porque el dispositivo fue eliminado: { $time }
deliveries-read = Ya no hacía falta, porque se leyó en otro lugar: { $time }
deliveries-replaced = Sustituida por una más reciente: { $time }

## Rules of apps, and titles of rules

notifications-rules = Reglas de aplicaciones
notifications-rules-sentence = Estas reglas las han creado aplicaciones, y los ajustes de arriba no pueden mostrarlas.
rules-about-word = Mensajes con la palabra { $word }
rules-about-room = Mensajes de la sala { $room }
rules-about-sender = Mensajes de { $sender }
rules-about-other = Regla con condiciones propias
rules-about-quiet-hours = Horas de silencio
rules-about-suppress-notices = Mensajes de bots
rules-about-invite-for-me = Invitaciones a salas
rules-about-member-event = Personas que entran, salen o cambian de nombre
rules-about-is-user-mention = Mensajes que te mencionan
rules-about-contains-display-name = Mensajes con tu nombre visible
rules-about-is-room-mention = Mensajes que mencionan a toda una sala
rules-about-roomnotif = Mensajes con @room en el texto
rules-about-tombstone = Salas sustituidas por otra nueva
rules-about-reaction = Reacciones
rules-about-room-server-acl = Cambios de los servidores admitidos en una sala
rules-about-suppress-edits = Ediciones de mensajes
rules-about-contains-user-name = Mensajes con tu nombre de usuario
rules-about-call = Llamadas
rules-about-encrypted-room-one-to-one = Mensajes cifrados en salas con otra persona
rules-about-room-one-to-one = Mensajes en salas con otra persona
rules-about-message = Mensajes en todas las demás salas
rules-about-encrypted = Mensajes cifrados en todas las demás salas
rules-notify = Avisa
rules-silent = En silencio
rules-delete = Eliminar
rules-delete-effect = Una regla eliminada no se puede recuperar.

## Try a message

try-title = Probar un mensaje
try-intro = Mira qué hacen tus reglas con un mensaje. No se envía ni se guarda nada.
try-text = Mensaje
try-sender = De
try-sender-hint = Opcional: un nombre de este servidor o un identificador como @nombre:servidor.
try-chat = Dónde
try-group = En un grupo
try-direct = En un chat directo contigo
try-button = Probar
try-notify = Recibirías una notificación, { $reason }.
try-sound = Recibirías una notificación con sonido, { $reason }.
try-silent = No recibirías ninguna notificación, { $reason }.
try-because-own = porque es tu propio mensaje
try-because-no-rule = porque no se cumple ninguna regla
try-because-paused = porque todo está en pausa
try-because-quiet = porque son horas de silencio
try-because-switched-on = porque «{ $name }» está activado
try-because-switched-off = porque has desactivado «{ $name }»
try-because-keyword = por tu palabra clave { $name }
try-because-muted-word = porque has silenciado la palabra { $name }
try-because-sender = por tu regla para { $name }
try-because-muted-sender = porque has silenciado a { $name }
try-because-rule = por tu regla { $name }

## Security

deletion-pending = Tu cuenta se eliminará: { $time }.
deletion-keep = Conservar mi cuenta
password-effect = Una contraseña nueva cierra la sesión en los demás navegadores y en todas las aplicaciones. Aquí sigues con la sesión abierta.
password-current = Contraseña actual
password-new = Contraseña nueva
password-again = Repite la contraseña nueva
password-button = Cambiar la contraseña
password-wrong = Esta no es tu contraseña.
password-hint = Al menos { $count } caracteres, y que no sea una contraseña común
password-different = Las dos contraseñas no coinciden.
email-verified = Puedes iniciar sesión con esta dirección. Después de un cambio, solo iniciarás sesión con el nombre de usuario.
sessions-title = Dónde tienes la sesión abierta
sessions-this = Este navegador
sessions-browser = { $browser } en { $system }
sessions-unknown = Navegador desconocido
sessions-since = Sesión iniciada el { $time }
sessions-more = Más navegadores
sessions-others = Cerrar sesión en todo lo demás
used-recently = Usado en la última hora
used-hours =
    Último uso hace { $count ->
        [one] una hora
       *[other] { $count } horas
    }
used-days =
    Último uso hace { $count ->
        [one] un día
       *[other] { $count } días
    }
used-never = Sin usar todavía
tokens-count =
    { $count ->
        [one] Una sesión iniciada
       *[other] { $count } sesiones iniciadas
    }
only-last-used =
    { $count ->
        [one] Aquí solo se muestra la última usada.
       *[other] Aquí solo se muestran las { $count } usadas más recientemente.
    }
data-title = Tus datos
data-content = Un archivo con tu cuenta, tus aplicaciones, sesiones, dispositivos y reglas de notificación, y un registro de lo que ha pasado en tu cuenta. No contiene contraseñas.
data-button = Descargar mis datos
delete-title = Eliminar tu cuenta
delete-effect = Tu cuenta se elimina después de un día, con sus aplicaciones y reglas de notificación. Hasta entonces puedes cambiar de opinión. Nadie más puede registrarse con tu nombre.
delete-button = Eliminar mi cuenta
delete-last-admin = Eres la única persona que administra este servidor. Antes, da ese papel a otra.
notice-token-revoked = La aplicación ya no tiene la sesión abierta allí.
notice-password-changed = Tu contraseña ha cambiado. Se ha cerrado la sesión en los demás navegadores y en todas las aplicaciones.
notice-email-changed = Tu correo electrónico está actualizado.
notice-session-ended = Se ha cerrado la sesión en el otro navegador.
notice-sessions-ended = Se ha cerrado la sesión en todos los demás navegadores.
notice-deletion-cancelled = Tu cuenta se conserva.
notice-test-sent = La prueba está en camino. La lista de abajo muestra si ha llegado; vuelve a cargar la página para actualizarla.
notice-test-not-sent = No se ha enviado ninguna prueba: el dispositivo no recibe mensajes en este momento o hay demasiados esperando.

## Sign up

sign-up-name = Nombre de usuario
sign-up-name-hint = Letras minúsculas de la a a la z, números y guiones bajos; en medio, también puntos y guiones. No podrás cambiarlo después.
sign-up-email = Correo electrónico
sign-up-email-hint = Opcional. Quienes gestionan este servidor pueden escribirte ahí. Iniciarás sesión con el nombre de usuario.
sign-up-again = Repite la contraseña
sign-up-agreement = Respetaré las reglas de este servidor.
sign-up-rules = Leer las reglas
sign-up-button = Crear mi cuenta
field-username-blank = Elige un nombre de usuario.
field-username-name-invalid = Usa solo letras minúsculas de la a a la z, números y guiones bajos. En medio puede haber puntos y guiones.
field-username-too-long = Elige un nombre de usuario de { $count } caracteres como máximo.
field-username-reserved = Este nombre de usuario está reservado. Elige otro.
field-username-taken = Este nombre de usuario ya está ocupado. Elige otro.
field-email-email-invalid = Comprueba la dirección. Debería ser como nombre@example.org.
field-email-too-long = Escribe una dirección de { $count } caracteres como máximo.
field-password-blank = Elige una contraseña.
field-password-too-short = Elige una contraseña de al menos { $count } caracteres.
field-password-too-long = Elige una contraseña de { $count } caracteres como máximo.
field-password-password-common = Esta contraseña es fácil de adivinar. Elige otra.
field-agreement-not-accepted = Acepta las reglas de este servidor.
sign-up-sign-in = Ya tengo una cuenta
registration-closed-title = No hay cuentas nuevas
registration-closed-sentence = Este servidor no acepta cuentas nuevas.
registration-closed-advice = Pregunta a quienes lo gestionan.

## Front page

front-title = Te damos la bienvenida
front-sentence = Aquí decides qué aplicaciones pueden usar tu cuenta y qué mensajes te notifican.
front-signed-in = Has iniciado sesión como { $account }.
front-account = Ir a tu cuenta
front-developers = Para desarrolladores
front-developers-sentence = Las aplicaciones se conectan a este servidor con OAuth 2.0 y con las API de Mastodon y Matrix.
front-api = Descripción de la API (OpenAPI)
front-documentation = Documentación

## Sesión cerrada

signed-out-title = Has cerrado la sesión
signed-out-sentence = Puedes cerrar esta página.
signed-out-button = Volver a iniciar sesión

## Lo que puede fallar

invalid-request-title = No se puede responder a esta solicitud
invalid-request-advice = Vuelve a la aplicación e inténtalo de nuevo. Si se repite, avisa a quienes la desarrollan.
malformed-sentence = Este servidor no ha podido leer lo que se ha enviado.
app-error-unknown = Este servidor no conoce la aplicación que te ha enviado aquí, o ya no la permite.
app-error-redirect-uri = La aplicación quiere enviarte a una dirección que no ha registrado aquí.
app-error-scope = La aplicación pide permisos que no puede obtener aquí.
app-error-request = La solicitud de la aplicación está incompleta o es incorrecta.
app-error-details = Para quienes desarrollan la aplicación:
denied-title = Acceso rechazado
denied-sentence = La aplicación no ha recibido acceso. No se ha compartido nada tuyo.
denied-advice = Puedes cerrar esta página.
expired-title = Esta solicitud ya no está abierta
expired-sentence = Ya se respondió, o ha pasado demasiado tiempo.
expired-advice = Vuelve a la aplicación y empieza de nuevo.
forged-form-title = No se ha podido comprobar este formulario
forged-form-sentence = Quizá hayas iniciado o cerrado sesión en otra pestaña, o tu navegador no ha enviado la cookie de este servidor.
forged-form-advice = Permite las cookies de este servidor, vuelve atrás e inténtalo de nuevo.
rate-limited-title = Demasiadas solicitudes
rate-limited-sentence = Este servidor ha recibido demasiadas solicitudes tuyas en poco tiempo.
rate-limited-advice =
    Vuelve a intentarlo en { $minutes ->
        [one] un minuto
       *[other] { $minutes } minutos
    }.
internal-title = Algo ha fallado aquí
internal-sentence = El error es de este servidor, no tuyo. Ha quedado registrado.
internal-advice = Vuelve a intentarlo dentro de un momento.
busy-title = Este servidor está ocupado
busy-sentence = Ahora mismo no puede responder. Tu solicitud no era incorrecta.
busy-advice = Vuelve a intentarlo dentro de un momento.
not-found-title = Página no encontrada
not-found-sentence = No hay nada en esta dirección.
not-found-advice = Revisa la dirección o vuelve a la aplicación de la que vienes.

## Errores de un registro

validation-failed = La validación ha fallado: { $errors }
validation-list = { $errors }, { $error }

app-name-blank = El nombre de la aplicación no puede quedar en blanco
app-name-invalid = El nombre de la aplicación no es válido
app-name-too-long = El nombre de la aplicación es demasiado largo (máximo: { $count } caracteres)
app-redirect-uri-blank = La URI de redirección no puede quedar en blanco
app-redirect-uri-forbidden = El servidor no permite esta URI de redirección.
app-redirect-uri-invalid = La URI de redirección debe ser una URI válida.
app-redirect-uri-relative = La URI de redirección debe ser una URI absoluta.
app-redirect-uri-opaque = La URI de redirección debe indicar un esquema.
app-redirect-uri-fragment = La URI de redirección no puede contener un fragmento.
app-redirect-uri-user-info = La URI de redirección no puede contener un nombre de usuario ni una contraseña.
app-redirect-uri-wildcard = La URI de redirección no puede contener un comodín.
app-redirect-uri-insecure = La URI de redirección debe ser HTTPS (http solo se permite para localhost).
app-redirect-uri-too-long = La URI de redirección es demasiado larga (máximo: { $count } caracteres)
app-scopes = Los permisos no coinciden con los que conoce el servidor.
app-unknown-scope = Los permisos no coinciden con los que conoce el servidor: { $scope } es desconocido (scopes_supported, /.well-known/oauth-authorization-server).
app-website-invalid = El sitio web de la aplicación no es una URL válida
app-website-too-long = El sitio web de la aplicación es demasiado largo (máximo: { $count } caracteres)
app-auth-method = El método de autenticación de la aplicación (token_endpoint_auth_method) debe ser client_secret_basic o client_secret_post (no se admiten aplicaciones públicas sin secreto: registra cada instalación de la aplicación para obtener su propio secreto)

account-error = { $field } { $error }
account-field-username = El nombre de usuario
account-field-email = El correo electrónico
account-field-password = La contraseña
account-field-agreement = El acuerdo de servicio
account-blank = no puede quedar en blanco
account-name-invalid = solo debe contener minúsculas, números y guiones bajos, y puntos o guiones solo en el interior
account-email-invalid = no es una dirección de correo válida
account-too-long = tiene demasiados caracteres (máximo: { $count })
account-too-short = tiene muy pocos caracteres (mínimo: { $count })
account-password-common = es demasiado fácil de adivinar; elija otra
account-reserved = no está disponible
account-taken = ya está en uso
account-not-accepted = debe aceptarse
