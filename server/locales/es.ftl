# Español. Tratamiento: tú.

## Iniciar sesión

sign-in-title = Iniciar sesión
sign-in-app = { $app } quiere usar tu cuenta.
sign-in-name = Nombre o correo electrónico
sign-in-password = Contraseña
sign-in-button = Iniciar sesión
sign-in-wrong = El nombre o la contraseña no son correctos. Revisa ambos.
sign-in-disabled = Esta cuenta está desactivada. Ponte en contacto con quienes gestionan este servidor.
sign-in-too-many =
    Demasiados intentos. Vuelve a intentarlo en { $minutes ->
        [one] un minuto
       *[other] { $minutes } minutos
    }.
sign-in-forgot = ¿Has olvidado tu contraseña?
sign-in-sign-up = Crear una cuenta

## Consentimiento

consent-title = ¿Permitir que { $app } use tu cuenta?
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
consent-push-both = Enviarte notificaciones push, y ver y cambiar sus reglas
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
nav-rules = Todas las reglas
nav-try = Probar un mensaje
nav-security = Seguridad
nav-skip = Ir al contenido
notice-saved = Guardado.
notice-not-saved = No se ha guardado nada, porque ya no tenías la sesión iniciada. Inténtalo de nuevo.
notice-app-removed = Esa aplicación ya no tiene acceso a tu cuenta.
sign-out-button = Cerrar sesión
apps-title = Aplicaciones con acceso
apps-none = Ninguna aplicación tiene acceso a tu cuenta.
apps-removal = La aplicación que quites pierde el acceso de inmediato. Más adelante puedes volver a dárselo.
apps-since = Desde el { $date }
apps-remove = Quitar el acceso
apps-link = Ver y quitar aplicaciones con acceso
apps-matrix = Clientes de Matrix
apps-matrix-note = Aplicaciones en las que iniciaste sesión con tu contraseña.
apps-issued-note = Acceso emitido por quienes administran este servidor.
rules-title = Tus reglas de notificación
rules-none = No tienes reglas propias. Las incorporadas deciden de qué se te avisa.
rules-order = Decide la primera regla que se cumple. Las reglas se cambian en tus aplicaciones.
rules-more = Más reglas que no se muestran aquí: { $count }. Tus aplicaciones las muestran todas.
rules-everywhere = En todos los dispositivos
rules-device = En dispositivos con el perfil { $tag }
rules-override = Antes que todas las demás
rules-content = Palabras
rules-room = Salas
rules-sender = Personas
rules-underride = Cuando no se cumple ninguna otra
rules-builtin = Reglas incorporadas que has cambiado
rules-pattern = Busca { $pattern }
rules-on = Activa
rules-off = Inactiva
rules-notify = Avisa
rules-silent = En silencio
rules-sound = Sonido
rules-highlight = Destacado

## Notifications

## All rules

## Try a message

## Security

## Sign up

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
rate-limited-advice = Espera unos minutos y vuelve a intentarlo.
internal-title = Algo ha fallado aquí
internal-sentence = El error es de este servidor, no tuyo. Ha quedado registrado.
internal-advice = Vuelve a intentarlo dentro de un momento.
not-found-title = Página no encontrada
not-found-sentence = No hay nada en esta dirección.
not-found-advice = Revisa la dirección o vuelve a la aplicación de la que vienes.

## Errores de una solicitud de autorización

oauth-error-missing = Falta el parámetro obligatorio { $parameter }.
oauth-error-repeated = El parámetro { $parameter } se ha enviado más de una vez.
oauth-error-not-one-value = El parámetro { $parameter } debe ser un solo valor, no una lista.
oauth-error-state-too-long = El parámetro state es demasiado largo (máximo: { $count } bytes).
oauth-error-too-long = Los parámetros son demasiado largos.
oauth-error-invalid-client = No se ha podido autenticar la aplicación: es desconocida, no ha enviado credenciales o usa un método no admitido.
oauth-error-two-authentications = La solicitud autentica la aplicación de más de una forma.
oauth-error-invalid-redirect-uri = La URI de redirección indicada no es válida.
oauth-error-unsupported-response-type = El servidor de autorización no admite este tipo de respuesta (response_type).
oauth-error-unsupported-response-mode = El servidor de autorización no admite este modo de respuesta (response_mode).
oauth-error-invalid-scope = El permiso solicitado no es válido, es desconocido o está mal escrito.
oauth-error-invalid-challenge-method = El parámetro code_challenge_method debe ser S256.
oauth-error-invalid-challenge = El parámetro code_challenge debe ser un resumen SHA-256 de 43 caracteres base64url.
oauth-error-access-denied = La persona titular de la cuenta o el servidor de autorización ha rechazado la solicitud.
oauth-error-unsupported-grant-type = El servidor de autorización no admite este tipo de autorización (grant_type).
oauth-error-invalid-grant = La autorización no es válida, ha caducado, se ha revocado, no corresponde a la URI de redirección de la solicitud o se emitió para otra aplicación.
oauth-error-unauthorized-revocation = No tienes permiso para revocar este token

## Errores de un registro

validation-failed = La validación ha fallado: { $problems }
validation-list = { $problems }, { $problem }

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
app-redirect-uri-insecure = La URI de redirección debe ser HTTPS.
app-redirect-uri-too-long = La URI de redirección es demasiado larga (máximo: { $count } caracteres)
app-scopes = Los permisos no coinciden con los que conoce el servidor.
app-website-invalid = El sitio web de la aplicación no es una URL válida
app-website-too-long = El sitio web de la aplicación es demasiado largo (máximo: { $count } caracteres)

account-error = { $field } { $problem }
account-field-username = El nombre de usuario
account-field-email = El correo electrónico
account-field-password = La contraseña
account-field-agreement = El acuerdo de servicio
account-blank = no puede quedar en blanco
account-name-invalid = solo debe contener minúsculas, números y guiones bajos, y puntos o guiones solo en el interior
account-email-invalid = no es una dirección de correo válida
account-too-long = tiene demasiados caracteres (máximo: { $count })
account-too-short = tiene muy pocos caracteres (mínimo: { $count })
account-password-common = es demasiado común; elija una que nadie más elegiría
account-reserved = no está disponible
account-taken = ya está en uso
account-not-accepted = debe aceptarse
