# Français. Vouvoiement.

## Connexion

sign-in-title = Connexion
sign-in-app = { $app } demande à utiliser votre compte.
sign-in-name = Nom ou adresse e-mail
sign-in-password = Mot de passe
sign-in-show-password = Afficher le mot de passe
sign-in-button = Se connecter
sign-in-wrong = Le nom ou le mot de passe est incorrect. Vérifiez les deux.
sign-in-wrong-address = Si vous avez créé votre compte ici, utilisez le nom d’utilisateur au lieu de l’adresse e-mail.
sign-in-disabled = Ce compte est désactivé. Adressez-vous aux responsables de ce serveur.
sign-in-too-many =
    Trop de tentatives. Réessayez dans { $minutes ->
        [one] une minute
       *[other] { $minutes } minutes
    }.
sign-in-forgot = Mot de passe oublié ?
sign-in-forgot-ask = Les responsables de ce serveur peuvent vous en donner un nouveau.
sign-in-sign-up = Créer un compte
languages = Langue

## Consentement

consent-title = Autoriser { $app } à utiliser votre compte ?
consent-operator-app = Les responsables de ce serveur ont ajouté cette application.
consent-local-app = N’importe quelle application peut porter ce nom. N’autorisez que si vous venez de l’ouvrir vous-même sur cet appareil.
consent-account = Votre compte
consent-switch = Utiliser un autre compte
consent-allows = { $app } pourra :
consent-admin-allows = Avec vos droits d’administration sur ce serveur :
consent-then-host = Vous retournerez ensuite à { $host }.
consent-then-device = Vous retournerez ensuite à une application de cet appareil.
consent-then-code = Vous verrez ensuite un code à saisir dans { $app }.
consent-allow = Donner accès à { $app }
consent-deny = Refuser

consent-all-read = Voir tout le contenu de votre compte
consent-all-write = Modifier tout le contenu de votre compte et agir en votre nom
consent-all-both = Voir et modifier tout le contenu de votre compte, et agir en votre nom
consent-matrix-both = Utiliser tout votre compte de discussion : lire et envoyer des messages, et modifier les salons, les appareils et les réglages
consent-accounts-read = Voir les informations de votre compte
consent-accounts-write = Modifier votre profil
consent-accounts-both = Voir les informations de votre compte et modifier votre profil
consent-blocks-read = Voir qui vous bloquez
consent-blocks-write = Bloquer et débloquer des personnes
consent-blocks-both = Voir et modifier qui vous bloquez
consent-bookmarks-read = Voir vos marque-pages
consent-bookmarks-write = Ajouter et retirer des marque-pages
consent-bookmarks-both = Voir et modifier vos marque-pages
consent-conversations-write = Masquer et supprimer des conversations
consent-favourites-read = Voir vos favoris
consent-favourites-write = Ajouter et retirer des favoris
consent-favourites-both = Voir et modifier vos favoris
consent-filters-read = Voir vos filtres
consent-filters-write = Modifier vos filtres
consent-filters-both = Voir et modifier vos filtres
consent-follow-both = Voir et modifier qui vous suivez, bloquez et masquez
consent-follows-read = Voir qui vous suivez
consent-follows-write = Suivre des personnes et cesser de les suivre
consent-follows-both = Voir et modifier qui vous suivez
consent-lists-read = Voir vos listes
consent-lists-write = Modifier vos listes
consent-lists-both = Voir et modifier vos listes
consent-media-write = Envoyer des images, des sons et des vidéos
consent-mutes-read = Voir qui vous masquez
consent-mutes-write = Masquer des personnes et des conversations, et les réafficher
consent-mutes-both = Voir et modifier qui vous masquez
consent-notifications-read = Voir vos notifications et leurs règles
consent-notifications-write = Effacer vos notifications et modifier leurs règles
consent-notifications-both = Voir et effacer vos notifications, et modifier leurs règles
consent-profile-read = Voir votre nom et votre profil
consent-push-both = Vous envoyer des notifications push, voir les messages qu’elles contiennent, et voir et modifier leurs règles
consent-reports-write = Signaler des personnes et des messages en votre nom
consent-search-read = Faire des recherches en votre nom
consent-statuses-read = Voir les messages, y compris les messages privés que vous pouvez voir
consent-statuses-write = Publier, modifier et supprimer des messages en votre nom
consent-statuses-both = Voir les messages, même privés, et en publier, modifier et supprimer en votre nom

consent-admin-all-read = Voir tout ce que seule l’administration peut voir
consent-admin-all-write = Modifier tout ce que seule l’administration peut modifier
consent-admin-all-both = Tout voir et tout modifier sur ce serveur
consent-admin-accounts-read = Voir tous les comptes et leurs informations privées
consent-admin-accounts-write = Modérer les comptes
consent-admin-accounts-both = Voir tous les comptes et leurs informations privées, et les modérer
consent-admin-reports-read = Voir les signalements
consent-admin-reports-write = Traiter les signalements
consent-admin-reports-both = Voir et traiter les signalements
consent-admin-domain_allows-read = Voir quels serveurs sont autorisés
consent-admin-domain_allows-write = Modifier quels serveurs sont autorisés
consent-admin-domain_allows-both = Voir et modifier quels serveurs sont autorisés
consent-admin-domain_blocks-read = Voir quels serveurs sont bloqués
consent-admin-domain_blocks-write = Modifier quels serveurs sont bloqués
consent-admin-domain_blocks-both = Voir et modifier quels serveurs sont bloqués
consent-admin-ip_blocks-read = Voir quelles adresses IP sont bloquées
consent-admin-ip_blocks-write = Modifier quelles adresses IP sont bloquées
consent-admin-ip_blocks-both = Voir et modifier quelles adresses IP sont bloquées
consent-admin-email_domain_blocks-read = Voir quels fournisseurs d’e-mail sont bloqués
consent-admin-email_domain_blocks-write = Modifier quels fournisseurs d’e-mail sont bloqués
consent-admin-email_domain_blocks-both = Voir et modifier quels fournisseurs d’e-mail sont bloqués
consent-admin-canonical_email_blocks-read = Voir quelles adresses e-mail sont bloquées
consent-admin-canonical_email_blocks-write = Modifier quelles adresses e-mail sont bloquées
consent-admin-canonical_email_blocks-both = Voir et modifier quelles adresses e-mail sont bloquées

## Le code, pour les applications qui ne le reçoivent pas elles-mêmes

code-title = Votre code pour { $app }
code-sentence = Copiez ce code et saisissez-le dans { $app }.
code-label = Code
code-copy = Copier
code-copied = Copié
code-care = Il sert une seule fois et n’est valable que quelques minutes. Ne le montrez à personne d’autre.

## Retour vers l’application

return-title = Retour à { $app }
return-sentence = Votre réponse est en route vers { $app }. Si rien ne se passe, appuyez sur le bouton.
return-button = Continuer vers { $app }

## Votre compte

nav-overview = Aperçu
nav-notifications = Notifications
nav-devices = Appareils
nav-security = Sécurité
nav-skip = Aller au contenu
notice-saved = Enregistré.
notice-keyword-muted = Enregistré. Ce mot était l’un de vos mots-clés. Il est maintenant en sourdine à la place.
notice-word-unmuted = Enregistré. Ce mot était en sourdine. Il est maintenant un mot-clé à la place.
notice-removed = Supprimé.
notice-not-saved = Rien n’a été enregistré, car vous n’étiez plus connecté·e. Veuillez réessayer.
notice-signed-out = Votre session dans ce navigateur est terminée, par exemple parce que votre mot de passe a été changé ou que beaucoup de temps a passé. Veuillez vous reconnecter.
notice-app-removed = Cette application n’a plus accès à votre compte.
pager-position = Page { $page } sur { $pages }
pager-previous = Page précédente
pager-next = Page suivante
sign-out-button = Se déconnecter
email-change = Changer l’adresse e-mail
email-add = Ajouter une adresse e-mail
apps-title = Applications ayant accès
apps-none = Aucune application n’a accès à votre compte.
apps-removal = Une application que vous retirez perd aussitôt son accès. Vous pourrez le lui redonner plus tard.
apps-since = Depuis le { $time }
apps-remove = Retirer l’accès
apps-matrix = Clients Matrix
apps-matrix-note = Applications où vous vous êtes identifié·e avec votre mot de passe.
apps-matrix-device-note = Vous vous y êtes connecté(e) avec votre mot de passe.
apps-command-line = Ligne de commande
apps-issued-note = Accès délivré par les responsables de ce serveur.

## Notifications

notifications-pause = Tout mettre en pause
notifications-on = Les notifications sont activées.
notifications-paused = Tout est en pause jusqu’à ce que vous réactiviez les notifications.
notifications-paused-until = Tout est en pause jusqu’à : { $time }.
notifications-pause-hour = Pause d’une heure
notifications-pause-8-hours = Pause de 8 heures
notifications-pause-morning = Pause jusqu’à 8 h du matin
notifications-pause-open = Pause jusqu’à ce que je les réactive
notifications-resume = Réactiver
notifications-utc = Les heures de cette page sont en UTC, qui peut différer de votre fuseau horaire. Cela vaut aussi pour 8 h du matin, mais pas pour les heures calmes, qui suivent le fuseau horaire que vous y choisissez.
notifications-quiet-sentence = Les moments de la semaine où vous voulez du calme, comme la nuit.
notifications-quiet-off = Les heures calmes sont désactivées.
notifications-quiet-later = Les heures calmes sont activées. En ce moment, ce n’est pas calme.
notifications-quiet-until = C’est calme jusqu’à : { $time }.
notifications-quiet-always = C’est toujours calme.
notifications-quiet-other-rule = C’est calme en ce moment à cause d’heures définies par une application. Le formulaire ci-dessous ne les modifie pas.
notifications-quiet-custom = Une application a défini des heures que cette page ne peut pas afficher. L’enregistrement les remplace.
notifications-quiet-days = Commence le
notifications-quiet-monday = Lundi
notifications-quiet-tuesday = Mardi
notifications-quiet-wednesday = Mercredi
notifications-quiet-thursday = Jeudi
notifications-quiet-friday = Vendredi
notifications-quiet-saturday = Samedi
notifications-quiet-sunday = Dimanche
notifications-quiet-from = De
notifications-quiet-to = À
notifications-quiet-to-hint = Si cette heure n’est pas après le début, elle est celle du lendemain.
notifications-quiet-zone = Fuseau horaire
notifications-quiet-zone-hint = Par exemple Europe/Paris ou UTC
notifications-quiet-level = Quel calme ?
notifications-quiet-important = Sauf pour les mentions et les mots-clés
notifications-quiet-important-hint = Vous êtes toujours notifié des mentions, des mots-clés et des invitations, ainsi que des personnes et des salons que vous avez choisis. Les appels et tous les autres messages restent silencieux.
notifications-quiet-total = Calme total
notifications-quiet-total-hint = Rien ne vous est notifié, pas même les mentions.
notifications-quiet-end = Désactiver
notifications-devices = Appareils
notifications-all-devices = Tous les appareils
notifications-device = Ces réglages valent pour les appareils du profil { $profile }. Ils passent avant ceux de tous les appareils.
notifications-more-profiles = Autres profils d’appareils, non affichés ici : { $count }.
notifications-keywords = Mots-clés
notifications-keywords-sentence = Un message qui contient l’un de ces mots vous est notifié, sauf s’il contient aussi un mot en sourdine.
notifications-keywords-none = Vous n’avez aucun mot-clé.
notifications-muted-words = Mots en sourdine
notifications-muted-words-sentence = Un message qui contient un mot en sourdine reste silencieux, sauf s’il vous mentionne, mentionne tout le salon avec @room ou contient votre nom affiché.
notifications-muted-words-none = Vous n’avez aucun mot en sourdine.
notifications-mute-word = Mettre un mot en sourdine
notifications-mute = Mettre en sourdine
notifications-word = Mot
notifications-word-hint = Majuscules et minuscules ne comptent pas ; * remplace n’importe quels caractères, ? un seul.
notifications-sound = Son
notifications-highlight = Mise en évidence
notifications-add-keyword = Ajouter un mot-clé
notifications-save = Enregistrer
notifications-remove = Supprimer
notifications-subjects = Personnes et salons
notifications-subjects-sentence = Une personne ou un salon en sourdine reste silencieux, sauf si un message vous mentionne, mentionne tout le salon avec @room ou contient votre nom affiché, votre nom d’utilisateur ou l’un de vos mots-clés.
notifications-subjects-none = Vous n’avez aucun réglage pour des personnes ou des salons.
notifications-id = Personne ou salon
notifications-id-hint = L’identifiant d’une personne, comme @nom:serveur, ou d’un salon, comme !id:serveur. Un lien copié de votre application convient aussi.
notifications-choice = Notifications
notifications-choice-hint = Une fois ce temps écoulé, l’entrée est supprimée.
notifications-choice-notify = Toujours notifier
notifications-choice-mute = Sourdine jusqu’à ce que je change d’avis
notifications-choice-mute-hour = Sourdine pendant une heure
notifications-choice-mute-8-hours = Sourdine pendant 8 heures
notifications-choice-mute-day = Sourdine pendant un jour
notifications-choice-mute-week = Sourdine pendant une semaine
notifications-add = Ajouter
notifications-add-subject = Ajouter une personne ou un salon
notifications-people = Personnes
notifications-rooms = Salons
notifications-off = Désactivé
notifications-muted = En sourdine
notifications-silent = En sourdine, mentions comprises
notifications-notifies = Notifie toujours
notifications-until = Jusqu’à : { $time }
notifications-switches = Ce qui vous est notifié
notifications-switches-sentence = Ceci vaut quand aucun de vos propres réglages ne convient.
notifications-messages = Messages
notifications-mentions = Mentions
notifications-calls = Appels et invitations
notifications-rare = Robots, modifications, réactions et changements de salons
notifications-rare-sentence = Les réactions et les changements de salons vous sont notifiés même dans les salons en sourdine.
notifications-switch-on = Oui
notifications-switch-partly = En partie
notifications-switch-off = Non
notifications-switch-one-to-one = Me notifier les messages des salons avec une seule autre personne
notifications-switch-group = Me notifier les messages de tous les autres salons
notifications-switch-bots = Me notifier les messages de robots
notifications-switch-edits = Me notifier quand un message est modifié
notifications-switch-reactions = Me notifier les réactions
notifications-switch-mention = Me notifier quand quelqu’un me mentionne
notifications-switch-display-name = Me notifier quand un message contient mon nom affiché
notifications-switch-user-name = Me notifier quand un message contient mon nom d’utilisateur
notifications-switch-room-mention = Me notifier quand quelqu’un mentionne tout un salon avec @room
notifications-switch-call = Me notifier quand quelqu’un m’appelle
notifications-switch-invitation = Me notifier quand quelqu’un m’invite dans un salon
notifications-switch-upgrade = Me notifier quand un salon est remplacé par un nouveau
notifications-switch-members = Me notifier quand des personnes arrivent, partent ou changent de nom
notifications-switch-servers = Me notifier quand changent les serveurs admis dans un salon
notifications-error-word-blank = Veuillez saisir un mot.
notifications-error-word-too-long = Ce mot est trop long. Veuillez en saisir un plus court.
notifications-error-id-blank = Veuillez saisir l’identifiant d’une personne ou d’un salon.
notifications-error-id-too-long = C’est trop long pour un identifiant. Veuillez le vérifier.
notifications-error-room-alias = C’est l’adresse d’un salon, pas son identifiant. L’identifiant commence par ! ; votre application l’affiche dans les paramètres du salon.
notifications-error-person-without-server = Il manque le serveur. L’identifiant d’une personne ressemble à @nom:serveur.
notifications-error-id-invalid = Ce n’est pas un identifiant. Celui d’une personne ressemble à @nom:serveur, celui d’un salon à !id:serveur.
notifications-error-text-blank = Veuillez saisir un message.
notifications-error-quiet-days-missing = Veuillez choisir au moins un jour.
notifications-error-quiet-time-invalid = Veuillez saisir deux heures, par exemple 22:00 et 07:00.
notifications-error-quiet-zone-unknown = Ce serveur ne connaît pas ce fuseau horaire. Un fuseau ressemble à Europe/Paris.
notifications-error-quiet-changed = Les heures calmes ont été modifiées entre-temps, peut-être dans un autre onglet ou une application. Rien n’a été enregistré. Vous les voyez ici dans leur état actuel.
notifications-error-too-many = Vous avez autant de règles que ce serveur le permet ({ $count }). Veuillez d’abord en supprimer.
notifications-error-too-large = Vos règles occupent toute la place que ce serveur accorde. Veuillez d’abord en supprimer.
notifications-error-changed = { $name } a été modifié entre-temps, peut-être dans un autre onglet ou une application. Rien n’a été enregistré. Voici l’état actuel.
notifications-error-removed = { $name } a été supprimé entre-temps, peut-être dans un autre onglet ou une application. Rien n’a été enregistré.
notifications-error-other = Enregistrement impossible. Veuillez vérifier votre saisie.

## Devices

devices-intro = Applications et navigateurs qui reçoivent vos notifications.
devices-off = Ce serveur n’envoie pas de notifications aux appareils.
devices-none = Aucun appareil ne reçoit encore vos notifications. Connectez-vous avec une application sur un appareil et activez-y les notifications. L’appareil apparaîtra alors ici.
devices-mastodon = Application Mastodon, par { $host }
devices-gateway = Application Matrix, par la passerelle { $host }
devices-web-push = Application Matrix, par { $host }
devices-waiting = En attente de confirmation par l’application
devices-disabled = Désactivé dans l’application
devices-delivered = Dernier envoi réussi : { $time }
devices-failed = Dernier essai échoué : { $time }
devices-test = Envoyer un test
devices-test-body = Les notifications arrivent sur cet appareil.
devices-error-unreachable = Le service de notification est injoignable.
devices-error-timeout = Le service de notification n’a pas répondu à temps.
devices-error-denied = Le service de notification n’accepte pas les messages de ce serveur.
devices-error-busy = Le service de notification est surchargé et demande à ce serveur d’attendre.
devices-error-rejected = Le service de notification a refusé le message (statut { $status }).
devices-error-status = Le service de notification signale une erreur (statut { $status }).
devices-error-gone = Le service de notification ne connaît plus cet appareil.
devices-error-other = Le message n’a pas pu être envoyé.
deliveries-title = Derniers envois
deliveries-tests = Derniers tests
deliveries-test = Test
deliveries-ack = Demande de confirmation de l’appareil
deliveries-counts = Nombre sur l’icône de l’application
deliveries-other = Notification
deliveries-former-device = Un appareil qui n’est plus dans la liste
deliveries-waiting = En attente depuis : { $time }
deliveries-next = Prochain essai : { $time }
deliveries-delivered = Remis : { $time }
deliveries-dropped = Non remis : { $time }
deliveries-expired = Non remis à temps : { $time }
deliveries-removed = Non remis, car l’appareil a été supprimé : { $time }
deliveries-read = Plus nécessaire, car lue ailleurs : { $time }
deliveries-replaced = Remplacée par une plus récente : { $time }

## Rules of apps, and titles of rules

notifications-rules = Règles des applications
notifications-rules-sentence = Des applications ont créé ces règles, que les réglages ci-dessus ne peuvent pas afficher.
rules-about-word = Messages avec le mot { $word }
rules-about-room = Messages du salon { $room }
rules-about-sender = Messages de { $sender }
rules-about-other = Règle avec ses propres conditions
rules-about-quiet-hours = Heures calmes
rules-about-suppress-notices = Messages de robots
rules-about-invite-for-me = Invitations à des salons
rules-about-member-event = Personnes qui arrivent, partent ou changent de nom
rules-about-is-user-mention = Messages qui vous mentionnent
rules-about-contains-display-name = Messages avec votre nom affiché
rules-about-is-room-mention = Messages qui mentionnent tout un salon
rules-about-roomnotif = Messages avec @room dans le texte
rules-about-tombstone = Salons remplacés par un nouveau
rules-about-reaction = Réactions
rules-about-room-server-acl = Changements des serveurs admis dans un salon
rules-about-suppress-edits = Modifications de messages
rules-about-contains-user-name = Messages avec votre nom d’utilisateur
rules-about-call = Appels
rules-about-encrypted-room-one-to-one = Messages chiffrés des salons avec une seule autre personne
rules-about-room-one-to-one = Messages des salons avec une seule autre personne
rules-about-message = Messages de tous les autres salons
rules-about-encrypted = Messages chiffrés de tous les autres salons
rules-notify = Notifie
rules-silent = Silence
rules-delete = Supprimer
rules-delete-effect = Une règle supprimée ne peut pas être récupérée.

## Try a message

try-title = Essayer un message
try-intro = Voyez ce que vos règles font d’un message. Rien n’est envoyé ni enregistré.
try-text = Message
try-sender = De
try-sender-hint = Facultatif : un nom sur ce serveur ou un identifiant comme @nom:serveur.
try-chat = Où
try-group = Dans un groupe
try-direct = Dans une discussion directe avec vous
try-button = Essayer
try-notify = Vous recevriez une notification, { $reason }.
try-sound = Vous recevriez une notification avec un son, { $reason }.
try-silent = Vous ne recevriez pas de notification, { $reason }.
try-because-own = car c’est votre propre message
try-because-no-rule = car aucune règle ne convient
try-because-paused = car tout est en pause
try-because-quiet = car c’est une période de calme
try-because-switched-on = parce que « { $name } » est activé
try-because-switched-off = parce que vous avez désactivé « { $name } »
try-because-keyword = à cause de votre mot-clé { $name }
try-because-muted-word = parce que vous avez mis le mot { $name } en sourdine
try-because-sender = à cause de votre règle pour { $name }
try-because-muted-sender = car vous avez mis { $name } en sourdine
try-because-rule = à cause de votre règle { $name }

## Security

deletion-pending = Votre compte sera supprimé : { $time }.
deletion-keep = Garder mon compte
password-effect = Un nouveau mot de passe déconnecte tous les autres navigateurs et toutes les applications. Vous restez connecté·e ici.
password-current = Mot de passe actuel
password-new = Nouveau mot de passe
password-again = Nouveau mot de passe, encore une fois
password-button = Changer le mot de passe
password-wrong = Ce n’est pas votre mot de passe.
password-hint = Au moins { $count } caractères, et pas un mot de passe courant
password-different = Les deux mots de passe sont différents.
email-verified = Vous pouvez vous connecter avec cette adresse. Après un changement, vous vous connecterez uniquement avec le nom d’utilisateur.
sessions-title = Où vous êtes connecté·e
sessions-this = Ce navigateur
sessions-browser = { $browser } sur { $system }
sessions-unknown = Navigateur inconnu
sessions-since = Connexion le { $time }
sessions-more = Autres navigateurs
sessions-others = Se déconnecter partout ailleurs
used-recently = Utilisé durant la dernière heure
used-hours =
    Dernière utilisation il y a { $count ->
        [one] une heure
       *[other] { $count } heures
    }
used-days =
    Dernière utilisation il y a { $count ->
        [one] un jour
       *[other] { $count } jours
    }
used-never = Jamais utilisé
tokens-count =
    { $count ->
        [one] Une connexion
       *[other] { $count } connexions
    }
only-last-used =
    { $count ->
        [one] Seule la dernière connexion utilisée est affichée.
       *[other] Seules les { $count } dernières connexions utilisées sont affichées.
    }
data-title = Vos données
data-content = Un fichier avec votre compte, vos applications, vos sessions, vos appareils, vos règles de notification et l’historique de votre compte. Il ne contient aucun mot de passe.
data-button = Télécharger mes données
delete-title = Supprimer votre compte
delete-effect = Votre compte sera supprimé après un jour, avec ses applications et ses règles de notification. D’ici là, vous pouvez changer d’avis. Personne d’autre ne pourra s’inscrire sous votre nom.
delete-button = Supprimer mon compte
delete-last-admin = Vous êtes la seule personne qui administre ce serveur. Confiez d’abord ce rôle à quelqu’un d’autre.
notice-token-revoked = L’application y est déconnectée.
notice-password-changed = Votre mot de passe est modifié. Tous les autres navigateurs et toutes les applications sont déconnectés.
notice-email-changed = Votre adresse e-mail est à jour.
notice-session-ended = L’autre navigateur est déconnecté.
notice-sessions-ended = Tous les autres navigateurs sont déconnectés.
notice-deletion-cancelled = Votre compte est conservé.
notice-test-sent = Le test est en route. La liste ci-dessous indique s’il est arrivé ; rechargez la page pour l’actualiser.
notice-test-not-sent = Aucun test n’a été envoyé : l’appareil ne reçoit pas de messages en ce moment, ou trop de messages l’attendent.

## Sign up

sign-up-name = Nom d’utilisateur
sign-up-name-hint = Lettres minuscules de a à z, chiffres et tirets bas ; au milieu, aussi des points et des tirets. Il ne pourra plus être changé.
sign-up-email = Adresse e-mail
sign-up-email-hint = Facultatif. Les responsables de ce serveur peuvent vous y joindre. Vous vous connecterez avec le nom d’utilisateur.
sign-up-again = Mot de passe, encore une fois
sign-up-agreement = Je respecterai les règles de ce serveur.
sign-up-rules = Lire les règles
sign-up-button = Créer mon compte
field-username-blank = Choisissez un nom d’utilisateur.
field-username-name-invalid = Utilisez seulement des lettres minuscules de a à z, des chiffres et des tirets bas. Les points et les tirets sont possibles au milieu.
field-username-too-long = Choisissez un nom d’utilisateur de { $count } caractères au plus.
field-username-reserved = Ce nom d’utilisateur est réservé. Choisissez-en un autre.
field-username-taken = Ce nom d’utilisateur est déjà pris. Choisissez-en un autre.
field-email-email-invalid = Vérifiez l’adresse. Elle devrait ressembler à nom@example.org.
field-email-too-long = Saisissez une adresse de { $count } caractères au plus.
field-password-blank = Choisissez un mot de passe.
field-password-too-short = Choisissez un mot de passe d’au moins { $count } caractères.
field-password-too-long = Choisissez un mot de passe de { $count } caractères au plus.
field-password-password-common = Ce mot de passe est facile à deviner. Choisissez-en un autre.
field-agreement-not-accepted = Acceptez les règles de ce serveur.
sign-up-sign-in = J’ai déjà un compte
registration-closed-title = Pas de nouveaux comptes
registration-closed-sentence = Ce serveur n’accepte pas de nouveaux comptes.
registration-closed-advice = Adressez-vous aux responsables de ce serveur.

## Front page

front-title = Bienvenue
front-sentence = Ici, vous décidez quelles applications peuvent utiliser votre compte et quels messages vous sont notifiés.
front-signed-in = Vous êtes connecté·e en tant que { $account }.
front-account = Aller à votre compte
front-developers = Pour les développeurs
front-developers-sentence = Les applications se connectent à ce serveur avec OAuth 2.0 et avec les API de Mastodon et de Matrix.
front-api = Description de l’API (OpenAPI)
front-documentation = Documentation

## Déconnexion

signed-out-title = Vous êtes déconnecté·e
signed-out-sentence = Vous pouvez fermer cette page.
signed-out-button = Se reconnecter

## Ce qui peut mal se passer

invalid-request-title = Impossible de répondre à cette demande
invalid-request-advice = Retournez à l’application et réessayez. Si cela se reproduit, prévenez les personnes qui la développent.
malformed-sentence = Ce serveur n’a pas pu lire ce qui a été envoyé.
app-error-unknown = Ce serveur ne connaît pas l’application qui vous a envoyé ici, ou ne l’autorise plus.
app-error-redirect-uri = L’application veut vous envoyer à une adresse qu’elle n’a pas enregistrée ici.
app-error-scope = L’application demande des autorisations qu’elle ne peut pas obtenir ici.
app-error-request = La demande de l’application est incomplète ou erronée.
app-error-details = Pour les personnes qui développent l’application :
denied-title = Accès refusé
denied-sentence = L’application n’a pas reçu d’accès. Rien de ce qui vous appartient n’a été partagé.
denied-advice = Vous pouvez fermer cette page.
expired-title = Cette demande n’est plus ouverte
expired-sentence = Elle a déjà reçu une réponse, ou trop de temps s’est écoulé.
expired-advice = Retournez à l’application et recommencez.
forged-form-title = Ce formulaire n’a pas pu être vérifié
forged-form-sentence = Vous vous êtes peut-être connecté·e ou déconnecté·e dans un autre onglet, ou votre navigateur n’a pas envoyé le cookie de ce serveur.
forged-form-advice = Autorisez les cookies pour ce serveur, revenez en arrière et réessayez.
rate-limited-title = Trop de demandes
rate-limited-sentence = Ce serveur a reçu trop de demandes de votre part en peu de temps.
rate-limited-advice =
    Réessayez dans { $minutes ->
        [one] une minute
       *[other] { $minutes } minutes
    }.
internal-title = Un problème est survenu
internal-sentence = L’erreur vient de ce serveur, pas de vous. Elle a été enregistrée.
internal-advice = Réessayez dans un instant.
busy-title = Ce serveur est occupé
busy-sentence = Il ne peut pas répondre pour le moment. Votre demande n’était pas erronée.
busy-advice = Réessayez dans un instant.
not-found-title = Page introuvable
not-found-sentence = Il n’y a rien à cette adresse.
not-found-advice = Vérifiez l’adresse ou retournez à l’application d’où vous venez.

## Erreurs d’une inscription

validation-failed = Échec de la validation : { $errors }
validation-list = { $errors }, { $error }

app-name-blank = Le nom de l’application ne peut pas être vide
app-name-invalid = Le nom de l’application n’est pas valide
app-name-too-long = Le nom de l’application est trop long ({ $count } caractères au maximum)
app-redirect-uri-blank = L’URI de redirection ne peut pas être vide
app-redirect-uri-forbidden = L’URI de redirection est interdite par le serveur.
app-redirect-uri-invalid = L’URI de redirection doit être une URI valide.
app-redirect-uri-relative = L’URI de redirection doit être une URI absolue.
app-redirect-uri-opaque = L’URI de redirection doit indiquer un schéma.
app-redirect-uri-fragment = L’URI de redirection ne peut pas contenir de fragment.
app-redirect-uri-user-info = L’URI de redirection ne peut contenir ni nom d’utilisateur ni mot de passe.
app-redirect-uri-wildcard = L’URI de redirection ne peut pas contenir de caractère générique.
app-redirect-uri-insecure = L’URI de redirection doit être en HTTPS (http n’est autorisé que pour localhost).
app-redirect-uri-too-long = L’URI de redirection est trop longue ({ $count } caractères au maximum)
app-scopes = Les autorisations ne correspondent pas à celles que connaît le serveur.
app-unknown-scope = Les autorisations ne correspondent pas à celles que connaît le serveur : { $scope } est inconnue (scopes_supported, /.well-known/oauth-authorization-server).
app-website-invalid = Le site web de l’application n’est pas une URL valide
app-website-too-long = L’adresse du site web de l’application est trop longue ({ $count } caractères au maximum)
app-auth-method = La méthode d’authentification de l’application (token_endpoint_auth_method) doit être client_secret_basic ou client_secret_post (les applications publiques sans secret ne sont pas prises en charge : enregistrez chaque installation de l’application pour obtenir son propre secret)

account-error = { $field } { $error }
account-field-username = Le nom d’utilisateur
account-field-email = L’adresse e-mail
account-field-password = Le mot de passe
account-field-agreement = L’accord avec les règles du service
account-blank = ne peut pas être vide
account-name-invalid = ne doit contenir que des minuscules, des chiffres et des tirets bas, et des points ou des tirets à l’intérieur seulement
account-email-invalid = n’est pas une adresse e-mail valide
account-too-long = dépasse { $count } caractères
account-too-short = doit compter au moins { $count } caractères
account-password-common = est trop facile à deviner ; choisissez-en un autre
account-reserved = n’est pas disponible
account-taken = existe déjà
account-not-accepted = est nécessaire
