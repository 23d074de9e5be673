# Italiano. Si dà del tu.

## Accesso

sign-in-title = Accedi
sign-in-app = { $app } chiede di usare il tuo account.
sign-in-name = Nome o indirizzo e-mail
sign-in-password = Password
sign-in-show-password = Mostra la password
sign-in-button = Accedi
sign-in-wrong = Il nome o la password non sono corretti. Controlla entrambi.
sign-in-wrong-address = Se hai creato l’account qui, usa il nome utente invece dell’indirizzo e-mail.
sign-in-disabled = Questo account è disattivato. Contatta chi gestisce questo server.
sign-in-too-many =
    Troppi tentativi. Riprova tra { $minutes ->
        [one] un minuto
       *[other] { $minutes } minuti
    }.
sign-in-forgot = Hai dimenticato la password?
sign-in-forgot-ask = Chi gestisce questo server può dartene una nuova.
sign-in-sign-up = Crea un account
languages = Lingua

## Consenso

consent-title = Consentire a { $app } di usare il tuo account?
consent-operator-app = Questa app è stata aggiunta da chi gestisce questo server.
consent-local-app = Qualsiasi app può usare questo nome. Consenti solo se l’hai appena aperta tu su questo dispositivo.
consent-account = Il tuo account
consent-switch = Usa un altro account
consent-allows = { $app } potrà:
consent-admin-allows = Con i tuoi permessi di amministrazione su questo server:
consent-then-host = Poi tornerai a { $host }.
consent-then-device = Poi tornerai a un’app su questo dispositivo.
consent-then-code = Poi vedrai un codice da inserire in { $app }.
consent-allow = Dai accesso a { $app }
consent-deny = Rifiuta

consent-all-read = Vedere tutto ciò che è nel tuo account
consent-all-write = Modificare tutto ciò che è nel tuo account e agire a tuo nome
consent-all-both = Vedere e modificare tutto ciò che è nel tuo account e agire a tuo nome
consent-matrix-both = Usare tutto il tuo account di chat: leggere e inviare messaggi e modificare stanze, dispositivi e impostazioni
consent-accounts-read = Vedere i dati del tuo account
consent-accounts-write = Modificare il tuo profilo
consent-accounts-both = Vedere i dati del tuo account e modificare il tuo profilo
consent-blocks-read = Vedere chi blocchi
consent-blocks-write = Bloccare e sbloccare persone
consent-blocks-both = Vedere e modificare chi blocchi
consent-bookmarks-read = Vedere i tuoi segnalibri
consent-bookmarks-write = Aggiungere e togliere segnalibri
consent-bookmarks-both = Vedere e modificare i tuoi segnalibri
consent-conversations-write = Silenziare ed eliminare conversazioni
consent-favourites-read = Vedere i tuoi preferiti
consent-favourites-write = Aggiungere e togliere preferiti
consent-favourites-both = Vedere e modificare i tuoi preferiti
consent-filters-read = Vedere i tuoi filtri
consent-filters-write = Modificare i tuoi filtri
consent-filters-both = Vedere e modificare i tuoi filtri
consent-follow-both = Vedere e modificare chi segui, blocchi e silenzi
consent-follows-read = Vedere chi segui
consent-follows-write = Seguire persone e smettere di seguirle
consent-follows-both = Vedere e modificare chi segui
consent-lists-read = Vedere le tue liste
consent-lists-write = Modificare le tue liste
consent-lists-both = Vedere e modificare le tue liste
consent-media-write = Caricare immagini, suoni e video
consent-mutes-read = Vedere chi silenzi
consent-mutes-write = Silenziare persone e conversazioni e riattivarle
consent-mutes-both = Vedere e modificare chi silenzi
consent-notifications-read = Vedere le tue notifiche e le loro regole
consent-notifications-write = Cancellare le tue notifiche e modificare le loro regole
consent-notifications-both = Vedere e cancellare le tue notifiche e modificare le loro regole
consent-profile-read = Vedere il tuo nome e il tuo profilo
consent-push-both = Inviarti notifiche push, vedere i messaggi che contengono e vedere e modificare le regole delle notifiche
consent-reports-write = Segnalare persone e post a tuo nome
consent-search-read = Fare ricerche a tuo nome
consent-statuses-read = Vedere i post, compresi quelli privati che puoi vedere
consent-statuses-write = Pubblicare, modificare ed eliminare post a tuo nome
consent-statuses-both = Vedere i post, compresi quelli privati, e pubblicarli, modificarli ed eliminarli a tuo nome

consent-admin-all-read = Vedere tutto ciò che vede solo l’amministrazione
consent-admin-all-write = Modificare tutto ciò che modifica solo l’amministrazione
consent-admin-all-both = Vedere e modificare tutto su questo server
consent-admin-accounts-read = Vedere tutti gli account e i loro dati privati
consent-admin-accounts-write = Moderare gli account
consent-admin-accounts-both = Vedere tutti gli account e i loro dati privati, e moderarli
consent-admin-reports-read = Vedere le segnalazioni
consent-admin-reports-write = Gestire le segnalazioni
consent-admin-reports-both = Vedere e gestire le segnalazioni
consent-admin-domain_allows-read = Vedere quali server sono ammessi
consent-admin-domain_allows-write = Modificare quali server sono ammessi
consent-admin-domain_allows-both = Vedere e modificare quali server sono ammessi
consent-admin-domain_blocks-read = Vedere quali server sono bloccati
consent-admin-domain_blocks-write = Modificare quali server sono bloccati
consent-admin-domain_blocks-both = Vedere e modificare quali server sono bloccati
consent-admin-ip_blocks-read = Vedere quali indirizzi IP sono bloccati
consent-admin-ip_blocks-write = Modificare quali indirizzi IP sono bloccati
consent-admin-ip_blocks-both = Vedere e modificare quali indirizzi IP sono bloccati
consent-admin-email_domain_blocks-read = Vedere quali fornitori di e-mail sono bloccati
consent-admin-email_domain_blocks-write = Modificare quali fornitori di e-mail sono bloccati
consent-admin-email_domain_blocks-both = Vedere e modificare quali fornitori di e-mail sono bloccati
consent-admin-canonical_email_blocks-read = Vedere quali indirizzi e-mail sono bloccati
consent-admin-canonical_email_blocks-write = Modificare quali indirizzi e-mail sono bloccati
consent-admin-canonical_email_blocks-both = Vedere e modificare quali indirizzi e-mail sono bloccati

## Il codice, per le app che non possono riceverlo da sole

code-title = Il tuo codice per { $app }
code-sentence = Copia questo codice e inseriscilo in { $app }.
code-label = Codice
code-copy = Copia
code-copied = Copiato
code-care = Vale una sola volta e solo per pochi minuti. Non mostrarlo a nessun altro.

## Di ritorno all’app

return-title = Di ritorno a { $app }
return-sentence = La tua risposta sta andando a { $app }. Se non succede nulla, premi il pulsante.
return-button = Continua su { $app }

## Il tuo account

nav-overview = Panoramica
nav-notifications = Notifiche
nav-devices = Dispositivi
nav-security = Sicurezza
nav-skip = Vai al contenuto
notice-saved = Salvato.
notice-keyword-muted = Salvato. Questa parola era una delle tue parole chiave. Ora è silenziata e non è più una parola chiave.
notice-word-unmuted = Salvato. Questa parola era silenziata. Ora è una parola chiave e non è più silenziata.
notice-removed = Rimosso.
notice-not-saved = Non è stato salvato nulla, perché non avevi più effettuato l’accesso. Riprova.
notice-signed-out = La tua sessione in questo browser è terminata, per esempio perché la password è stata cambiata o è passato molto tempo. Accedi di nuovo.
notice-app-removed = Quell’app non ha più accesso al tuo account.
pager-position = Pagina { $page } di { $pages }
pager-previous = Pagina precedente
pager-next = Pagina successiva
sign-out-button = Esci
email-change = Cambia l’indirizzo e-mail
email-add = Aggiungi un indirizzo e-mail
apps-title = App con accesso
apps-none = Nessuna app ha accesso al tuo account.
apps-removal = L’app che rimuovi perde subito l’accesso. In seguito puoi concederglielo di nuovo.
apps-since = Dal { $time }
apps-remove = Rimuovi l’accesso
apps-matrix = Client Matrix
apps-matrix-note = App in cui hai effettuato l’accesso con la tua password.
apps-matrix-device-note = Lì hai effettuato l’accesso con la password.
apps-command-line = Riga di comando
apps-issued-note = Accesso rilasciato da chi gestisce questo server.

## Notifications

notifications-pause = Metti tutto in pausa
notifications-on = Le notifiche sono attive.
notifications-paused = È tutto in pausa finché non lo riattivi.
notifications-paused-until = È tutto in pausa fino a: { $time }.
notifications-pause-hour = Pausa per un’ora
notifications-pause-8-hours = Pausa per 8 ore
notifications-pause-morning = Pausa fino alle 8:00 del mattino
notifications-pause-open = Pausa finché non riattivo
notifications-resume = Riattiva
notifications-utc = Gli orari di questa pagina sono in UTC, che può differire dal tuo fuso orario. Questo vale anche per le 8:00 del mattino, ma non per le ore di silenzio, che sono nel fuso orario che scegli per esse.
notifications-quiet-sentence = I momenti della settimana in cui vuoi silenzio, come la notte.
notifications-quiet-off = Le ore di silenzio sono disattivate.
notifications-quiet-later = Le ore di silenzio sono attive. In questo momento non c’è silenzio.
notifications-quiet-until = C’è silenzio fino a: { $time }.
notifications-quiet-always = C’è sempre silenzio.
notifications-quiet-other-rule = Ora c’è silenzio per via di orari impostati da un’app. Il modulo qui sotto non li modifica.
notifications-quiet-custom = Un’app ha impostato orari che questa pagina non può mostrare. Salvando vengono sostituiti.
notifications-quiet-days = Inizia di
notifications-quiet-monday = Lunedì
notifications-quiet-tuesday = Martedì
notifications-quiet-wednesday = Mercoledì
notifications-quiet-thursday = Giovedì
notifications-quiet-friday = Venerdì
notifications-quiet-saturday = Sabato
notifications-quiet-sunday = Domenica
notifications-quiet-from = Dalle
notifications-quiet-to = Alle
notifications-quiet-to-hint = Se non è dopo l’inizio, è un orario del giorno seguente.
notifications-quiet-zone = Fuso orario
notifications-quiet-zone-hint = Per esempio Europe/Rome o UTC
notifications-quiet-level = Quanto silenzio?
notifications-quiet-important = Tranne menzioni e parole chiave
notifications-quiet-important-hint = Ricevi ancora notifiche per menzioni, parole chiave e inviti, e per le persone e le stanze che hai scelto. Le chiamate e tutti gli altri messaggi restano silenziosi.
notifications-quiet-total = Silenzio totale
notifications-quiet-total-hint = Non ricevi alcuna notifica, nemmeno per le menzioni.
notifications-quiet-end = Disattiva
notifications-devices = Dispositivi
notifications-all-devices = Tutti i dispositivi
notifications-device = Queste impostazioni valgono per i dispositivi con il profilo { $profile }. Vengono prima di quelle per tutti i dispositivi.
notifications-more-profiles = Altri profili di dispositivi, non mostrati qui: { $count }.
notifications-keywords = Parole chiave
notifications-keywords-sentence = Ricevi una notifica per i messaggi con una di queste parole, a meno che non contengano anche una parola silenziata.
notifications-keywords-none = Non hai parole chiave.
notifications-muted-words = Parole silenziate
notifications-muted-words-sentence = Un messaggio con una parola silenziata non notifica, a meno che menzioni te o tutti con @room, o contenga il tuo nome visualizzato.
notifications-muted-words-none = Non hai parole silenziate.
notifications-mute-word = Silenzia una parola
notifications-mute = Silenzia
notifications-word = Parola
notifications-word-hint = Maiuscole e minuscole sono uguali; * sta per qualsiasi carattere, ? per uno solo.
notifications-sound = Suono
notifications-highlight = Metti in evidenza
notifications-add-keyword = Aggiungi parola chiave
notifications-save = Salva
notifications-remove = Rimuovi
notifications-subjects = Persone e stanze
notifications-subjects-sentence = Una persona o stanza silenziata non notifica, a meno che un messaggio menzioni te o tutti con @room, o contenga il tuo nome visualizzato, il tuo nome utente o una delle tue parole chiave.
notifications-subjects-none = Non hai impostazioni per persone o stanze.
notifications-id = Persona o stanza
notifications-id-hint = L’identificativo di una persona, come @nome:server, o di una stanza, come !id:server. Va bene anche un link della tua app.
notifications-choice = Notifiche
notifications-choice-hint = Quando il tempo è finito, la voce viene rimossa.
notifications-choice-notify = Notifica sempre
notifications-choice-mute = Silenzia finché non cambio
notifications-choice-mute-hour = Silenzia per un’ora
notifications-choice-mute-8-hours = Silenzia per 8 ore
notifications-choice-mute-day = Silenzia per un giorno
notifications-choice-mute-week = Silenzia per una settimana
notifications-add = Aggiungi
notifications-add-subject = Aggiungi una persona o stanza
notifications-people = Persone
notifications-rooms = Stanze
notifications-off = Disattivata
notifications-muted = Silenziata
notifications-silent = Silenziata, anche le menzioni
notifications-notifies = Notifica sempre
notifications-until = Fino a: { $time }
notifications-switches = Che cosa ti viene notificato
notifications-switches-sentence = Vale quando nessuna delle tue impostazioni corrisponde.
notifications-messages = Messaggi
notifications-mentions = Menzioni
notifications-calls = Chiamate e inviti
notifications-rare = Bot, modifiche, reazioni e cambiamenti delle stanze
notifications-rare-sentence = Le reazioni e i cambiamenti delle stanze ti vengono notificati anche nelle stanze silenziate.
notifications-switch-on = Sì
notifications-switch-partly = In parte
notifications-switch-off = No
notifications-switch-one-to-one = Notificami i messaggi nelle stanze con una sola altra persona
notifications-switch-group = Notificami i messaggi in tutte le altre stanze
notifications-switch-bots = Notificami i messaggi dei bot
notifications-switch-edits = Notificami quando un messaggio viene modificato
notifications-switch-reactions = Notificami le reazioni
notifications-switch-mention = Notificami quando qualcuno mi menziona
notifications-switch-display-name = Notificami quando un messaggio contiene il mio nome visualizzato
notifications-switch-user-name = Notificami quando un messaggio contiene il mio nome utente
notifications-switch-room-mention = Notificami quando qualcuno menziona tutta una stanza con @room
notifications-switch-call = Notificami quando qualcuno mi chiama
notifications-switch-invitation = Notificami quando qualcuno mi invita in una stanza
notifications-switch-upgrade = Notificami quando una stanza viene sostituita da una nuova
notifications-switch-members = Notificami quando qualcuno entra, esce o cambia nome
notifications-switch-servers = Notificami quando cambiano i server ammessi in una stanza
notifications-error-word-blank = Inserisci una parola.
notifications-error-word-too-long = Questa parola è troppo lunga. Inseriscine una più corta.
notifications-error-id-blank = Inserisci l’identificativo di una persona o di una stanza.
notifications-error-id-too-long = È troppo lungo per un identificativo. Controllalo.
notifications-error-room-alias = Questo è l’indirizzo di una stanza, non il suo identificativo. L’identificativo comincia con !; la tua app lo mostra nelle impostazioni della stanza.
notifications-error-person-without-server = Manca il server. L’identificativo di una persona è fatto così: @nome:server
notifications-error-id-invalid = Questo non è un identificativo. Quello di una persona è come @nome:server, quello di una stanza come !id:server.
notifications-error-text-blank = Inserisci un messaggio.
notifications-error-quiet-days-missing = Scegli almeno un giorno.
notifications-error-quiet-time-invalid = Inserisci due orari, per esempio 22:00 e 07:00.
notifications-error-quiet-zone-unknown = Questo server non conosce questo fuso orario. Un fuso orario è come Europe/Rome.
notifications-error-quiet-changed = Le ore di silenzio sono state cambiate nel frattempo, forse in un’altra scheda o app. Non è stato salvato nulla. Qui le vedi come sono ora.
notifications-error-too-many = Hai tante regole quante ne permette questo server ({ $count }). Prima rimuovine alcune.
notifications-error-too-large = Le tue regole occupano tutto lo spazio permesso da questo server. Prima rimuovine alcune.
notifications-error-changed = { $name } nel frattempo è cambiato, forse in un’altra scheda o app. Non è stato salvato nulla. Qui vedi com’è ora.
notifications-error-removed = { $name } nel frattempo è stato rimosso, forse in un’altra scheda o app. Non è stato salvato nulla.
notifications-error-other = Non è stato possibile salvare. Controlla ciò che hai inserito.

## Devices

devices-intro = App e browser che ricevono le tue notifiche.
devices-off = Questo server non invia notifiche ai dispositivi.
devices-none = Nessun dispositivo riceve ancora le tue notifiche. Accedi con un’app su un dispositivo e attiva lì le notifiche. Il dispositivo apparirà qui.
devices-mastodon = App per Mastodon, tramite { $host }
devices-gateway = App per Matrix, tramite il gateway { $host }
devices-web-push = App per Matrix, tramite { $host }
devices-waiting = In attesa della conferma dell’app
devices-disabled = Disattivato nell’app
devices-delivered = Ultima consegna: { $time }
devices-failed = Ultimo tentativo fallito: { $time }
devices-test = Invia una prova
devices-test-body = Le notifiche arrivano su questo dispositivo.
devices-error-unreachable = Il servizio di notifica non è raggiungibile.
devices-error-timeout = Il servizio di notifica non ha risposto in tempo.
devices-error-denied = Il servizio di notifica non accetta messaggi da questo server.
devices-error-busy = Il servizio di notifica è sovraccarico e chiede a questo server di aspettare.
devices-error-rejected = Il servizio di notifica ha rifiutato il messaggio (stato { $status }).
devices-error-status = Il servizio di notifica segnala un errore (stato { $status }).
devices-error-gone = Il servizio di notifica non conosce più questo dispositivo.
devices-error-other = Non è stato possibile inviare il messaggio.
deliveries-title = Ultime consegne
deliveries-tests = Ultime prove
deliveries-test = Prova
deliveries-ack = Richiesta di confermare il dispositivo
deliveries-counts = Numero sull’icona dell’app
deliveries-other = Notifica
deliveries-former-device = Un dispositivo che non è più nell’elenco
deliveries-waiting = In attesa da: { $time }
deliveries-next = Prossimo tentativo: { $time }
deliveries-delivered = Consegnato: { $time }
deliveries-dropped = Non consegnato: { $time }
deliveries-expired = Non consegnato in tempo: { $time }
deliveries-removed = Non consegnato, perché il dispositivo è stato rimosso: { $time }
deliveries-read = Non più necessaria, perché letta altrove: { $time }
deliveries-replaced = Sostituita da una più recente: { $time }

## Rules of apps, and titles of rules

notifications-rules = Regole delle app
notifications-rules-sentence = Queste regole sono state create da app e le impostazioni qui sopra non possono mostrarle.
rules-about-word = Messaggi con la parola { $word }
rules-about-room = Messaggi nella stanza { $room }
rules-about-sender = Messaggi di { $sender }
rules-about-other = Regola con condizioni proprie
rules-about-quiet-hours = Ore di silenzio
rules-about-suppress-notices = Messaggi dei bot
rules-about-invite-for-me = Inviti a stanze
rules-about-member-event = Persone che entrano, escono o cambiano nome
rules-about-is-user-mention = Messaggi che ti menzionano
rules-about-contains-display-name = Messaggi con il tuo nome visualizzato
rules-about-is-room-mention = Messaggi che menzionano tutta una stanza
rules-about-roomnotif = Messaggi con @room nel testo
rules-about-tombstone = Stanze sostituite da una nuova
rules-about-reaction = Reazioni
rules-about-room-server-acl = Cambiamenti dei server ammessi in una stanza
rules-about-suppress-edits = Modifiche di messaggi
rules-about-contains-user-name = Messaggi con il tuo nome utente
rules-about-call = Chiamate
rules-about-encrypted-room-one-to-one = Messaggi cifrati nelle stanze con una sola altra persona
rules-about-room-one-to-one = Messaggi nelle stanze con una sola altra persona
rules-about-message = Messaggi in tutte le altre stanze
rules-about-encrypted = Messaggi cifrati in tutte le altre stanze
rules-notify = Notifica
rules-silent = Silenzio
rules-delete = Elimina
rules-delete-effect = Una regola eliminata non si può recuperare.

## Try a message

try-title = Prova un messaggio
try-intro = Guarda che cosa fanno le tue regole con un messaggio. Non viene inviato né salvato nulla.
try-text = Messaggio
try-sender = Da
try-sender-hint = Facoltativo: un nome su questo server o un identificativo come @nome:server.
try-chat = Dove
try-group = In un gruppo
try-direct = In una chat diretta con te
try-button = Prova
try-notify = Riceveresti una notifica, { $reason }.
try-sound = Riceveresti una notifica con un suono, { $reason }.
try-silent = Non riceveresti notifiche, { $reason }.
try-because-own = perché è un tuo messaggio
try-because-no-rule = perché nessuna regola corrisponde
try-because-paused = perché tutto è in pausa
try-because-quiet = perché sono ore di silenzio
try-because-switched-on = perché «{ $name }» è attivo
try-because-switched-off = perché hai disattivato «{ $name }»
try-because-keyword = per la tua parola chiave { $name }
try-because-muted-word = perché hai silenziato la parola { $name }
try-because-sender = per la tua regola per { $name }
try-because-muted-sender = perché hai silenziato { $name }
try-because-rule = per la tua regola { $name }

## Security

deletion-pending = Il tuo account sarà eliminato: { $time }.
deletion-keep = Mantieni il mio account
password-effect = Una nuova password disconnette tutti gli altri browser e tutte le app. Qui il tuo accesso resta aperto.
password-current = Password attuale
password-new = Nuova password
password-again = Ripeti la nuova password
password-button = Cambia password
password-wrong = Questa non è la tua password.
password-hint = Almeno { $count } caratteri, e non una password comune
password-different = Le due password sono diverse.
email-verified = Puoi accedere con questo indirizzo. Dopo una modifica accedi solo con il nome utente.
sessions-title = Dove hai effettuato l’accesso
sessions-this = Questo browser
sessions-browser = { $browser } su { $system }
sessions-unknown = Browser sconosciuto
sessions-since = Accesso del { $time }
sessions-more = Altri browser
sessions-others = Esci da tutti gli altri
used-recently = Usato nell’ultima ora
used-hours =
    Ultimo uso { $count ->
        [one] un’ora
       *[other] { $count } ore
    } fa
used-days =
    Ultimo uso { $count ->
        [one] un giorno
       *[other] { $count } giorni
    } fa
used-never = Non ancora usato
tokens-count =
    { $count ->
        [one] Un accesso
       *[other] { $count } accessi
    }
only-last-used =
    { $count ->
        [one] Qui è mostrato solo l’ultimo usato.
       *[other] Qui sono mostrati solo gli ultimi { $count } usati.
    }
data-title = I tuoi dati
data-content = Un file con il tuo account, le app, le sessioni, i dispositivi, le regole di notifica e un registro di ciò che è successo al tuo account. Non contiene password.
data-button = Scarica i miei dati
delete-title = Elimina il tuo account
delete-effect = Il tuo account viene eliminato dopo un giorno, con le sue app e le regole di notifica. Fino ad allora puoi cambiare idea. Nessun altro può registrarsi con il tuo nome.
delete-button = Elimina il mio account
delete-last-admin = Solo tu amministri questo server. Prima affida questo ruolo a qualcun altro.
notice-token-revoked = L’app è stata disconnessa lì.
notice-password-changed = La password è cambiata. Tutti gli altri browser e tutte le app sono stati disconnessi.
notice-email-changed = Il tuo indirizzo e-mail è aggiornato.
notice-session-ended = L’altro browser è stato disconnesso.
notice-sessions-ended = Tutti gli altri browser sono stati disconnessi.
notice-deletion-cancelled = Il tuo account resta.
notice-test-sent = La prova è in viaggio. L’elenco qui sotto mostra se è arrivata; ricarica la pagina per aggiornarlo.
notice-test-not-sent = Non è stata inviata nessuna prova: il dispositivo al momento non riceve messaggi, oppure troppi lo stanno aspettando.

## Sign up

sign-up-name = Nome utente
sign-up-name-hint = Lettere minuscole dalla a alla z, numeri e trattini bassi; in mezzo anche punti e trattini. Non si può cambiare in seguito.
sign-up-email = Indirizzo e-mail
sign-up-email-hint = Facoltativo. Chi gestisce questo server può contattarti lì. Si accede con il nome utente.
sign-up-again = Ripeti la password
sign-up-agreement = Seguirò le regole di questo server.
sign-up-rules = Leggi le regole
sign-up-button = Crea il mio account
field-username-blank = Scegli un nome utente.
field-username-name-invalid = Usa solo lettere minuscole dalla a alla z, numeri e trattini bassi. In mezzo possono esserci punti e trattini.
field-username-too-long = Scegli un nome utente di { $count } caratteri al massimo.
field-username-reserved = Questo nome utente è riservato. Scegline un altro.
field-username-taken = Questo nome utente è già in uso. Scegline un altro.
field-email-email-invalid = Controlla l’indirizzo. Dovrebbe essere simile a nome@example.org.
field-email-too-long = Inserisci un indirizzo di { $count } caratteri al massimo.
field-password-blank = Scegli una password.
field-password-too-short = Scegli una password di almeno { $count } caratteri.
field-password-too-long = Scegli una password di { $count } caratteri al massimo.
field-password-password-common = Questa password è facile da indovinare. Scegline un’altra.
field-agreement-not-accepted = Accetta le regole di questo server.
sign-up-sign-in = Ho già un account
registration-closed-title = Nessun nuovo account
registration-closed-sentence = Questo server non accetta nuovi account.
registration-closed-advice = Chiedi a chi lo gestisce.

## Front page

front-title = Ti diamo il benvenuto
front-sentence = Qui decidi quali app possono usare il tuo account e quali messaggi ti inviano una notifica.
front-signed-in = Hai effettuato l’accesso come { $account }.
front-account = Vai al tuo account
front-developers = Per sviluppatori
front-developers-sentence = Le app si collegano a questo server con OAuth 2.0 e con le API di Mastodon e Matrix.
front-api = Descrizione dell’API (OpenAPI)
front-documentation = Documentazione

## Uscita

signed-out-title = Hai effettuato l’uscita
signed-out-sentence = Puoi chiudere questa pagina.
signed-out-button = Accedi di nuovo

## Che cosa può andare storto

invalid-request-title = Non è possibile rispondere a questa richiesta
invalid-request-advice = Torna all’app e riprova. Se succede di nuovo, avvisa chi la sviluppa.
malformed-sentence = Questo server non è riuscito a leggere ciò che è stato inviato.
app-error-unknown = Questo server non conosce l’app che ti ha mandato qui, o non la consente più.
app-error-redirect-uri = L’app vuole mandarti a un indirizzo che non ha registrato qui.
app-error-scope = L’app chiede autorizzazioni che non può ottenere qui.
app-error-request = La richiesta dell’app è incompleta o errata.
app-error-details = Per chi sviluppa l’app:
denied-title = Accesso rifiutato
denied-sentence = L’app non ha ricevuto l’accesso. Nulla di tuo è stato condiviso.
denied-advice = Puoi chiudere questa pagina.
expired-title = Questa richiesta non è più aperta
expired-sentence = Ha già avuto risposta, oppure è passato troppo tempo.
expired-advice = Torna all’app e ricomincia.
forged-form-title = Non è stato possibile verificare questo modulo
forged-form-sentence = Forse hai effettuato l’accesso o l’uscita in un’altra scheda, oppure il browser non ha inviato il cookie di questo server.
forged-form-advice = Consenti i cookie per questo server, torna indietro e riprova.
rate-limited-title = Troppe richieste
rate-limited-sentence = Questo server ha ricevuto troppe richieste da te in poco tempo.
rate-limited-advice =
    Riprova tra { $minutes ->
        [one] un minuto
       *[other] { $minutes } minuti
    }.
internal-title = Qualcosa qui è andato storto
internal-sentence = L’errore è di questo server, non tuo. È stato registrato.
internal-advice = Riprova tra un momento.
busy-title = Questo server è occupato
busy-sentence = Al momento non può rispondere. La tua richiesta non era sbagliata.
busy-advice = Riprova tra un momento.
not-found-title = Pagina non trovata
not-found-sentence = A questo indirizzo non c’è nulla.
not-found-advice = Controlla l’indirizzo o torna all’app da cui vieni.

## Errori di una registrazione

validation-failed = Convalida non riuscita: { $errors }
validation-list = { $errors }, { $error }

app-name-blank = Il nome dell’app non può essere vuoto
app-name-invalid = Il nome dell’app non è valido
app-name-too-long = Il nome dell’app è troppo lungo (massimo { $count } caratteri)
app-redirect-uri-blank = L’URI di reindirizzamento non può essere vuoto
app-redirect-uri-forbidden = L’URI di reindirizzamento non è consentito dal server.
app-redirect-uri-invalid = L’URI di reindirizzamento deve essere un URI valido.
app-redirect-uri-relative = L’URI di reindirizzamento deve essere un URI assoluto.
app-redirect-uri-opaque = L’URI di reindirizzamento deve indicare uno schema.
app-redirect-uri-fragment = L’URI di reindirizzamento non può contenere un frammento.
app-redirect-uri-user-info = L’URI di reindirizzamento non può contenere un nome utente o una password.
app-redirect-uri-wildcard = L’URI di reindirizzamento non può contenere un carattere jolly.
app-redirect-uri-insecure = L’URI di reindirizzamento deve essere HTTPS (http è consentito solo per localhost).
app-redirect-uri-too-long = L’URI di reindirizzamento è troppo lungo (massimo { $count } caratteri)
app-scopes = I permessi non corrispondono a quelli noti al server.
app-unknown-scope = I permessi non corrispondono a quelli noti al server: { $scope } è sconosciuto (scopes_supported, /.well-known/oauth-authorization-server).
app-website-invalid = Il sito web dell’app non è un URL valido
app-website-too-long = L’indirizzo del sito web dell’app è troppo lungo (massimo { $count } caratteri)
app-auth-method = Il metodo di autenticazione dell’app (token_endpoint_auth_method) deve essere client_secret_basic o client_secret_post (le app pubbliche senza segreto non sono supportate: registra ogni installazione dell’app per ottenere il suo segreto)

account-error = { $field } { $error }
account-field-username = Il nome utente
account-field-email = L’indirizzo e-mail
account-field-password = La password
account-field-agreement = L’accordo di servizio
account-blank = non può mancare
account-name-invalid = deve contenere solo lettere minuscole, cifre e trattini bassi, e punti o trattini solo all’interno
account-email-invalid = non è un indirizzo e-mail valido
account-too-long = ha troppi caratteri (massimo { $count })
account-too-short = ha troppo pochi caratteri (minimo { $count })
account-password-common = è troppo facile da indovinare; ne scelga un’altra
account-reserved = non è disponibile
account-taken = è già in uso
account-not-accepted = richiede l’accettazione
