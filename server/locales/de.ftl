# Deutsch. Anrede: du.

## Anmelden

sign-in-title = Anmelden
sign-in-app = { $app } möchte dein Konto nutzen.
sign-in-name = Name oder E-Mail-Adresse
sign-in-password = Passwort
sign-in-show-password = Passwort anzeigen
sign-in-button = Anmelden
sign-in-wrong = Name oder Passwort ist falsch. Bitte prüfe beides.
sign-in-wrong-address = Wenn du dich hier registriert hast, verwende den Benutzernamen statt der E-Mail-Adresse.
sign-in-disabled = Dieses Konto ist gesperrt. Bitte wende dich an die Betreiber dieses Servers.
sign-in-too-many =
    Zu viele Versuche. Bitte versuche es in { $minutes ->
        [one] einer Minute
       *[other] { $minutes } Minuten
    } noch einmal.
sign-in-forgot = Passwort vergessen?
sign-in-forgot-ask = Die Betreiber dieses Servers können dir ein neues geben.
sign-in-sign-up = Konto erstellen
languages = Sprache

## Zustimmung

consent-title = Darf { $app } dein Konto nutzen?
consent-operator-app = Die Betreiber dieses Servers haben diese App hinzugefügt.
consent-local-app = Jede App kann diesen Namen verwenden. Erlaube es nur, wenn du sie gerade selbst auf diesem Gerät geöffnet hast.
consent-account = Dein Konto
consent-switch = Anderes Konto verwenden
consent-allows = Damit darf { $app }:
consent-admin-allows = Mit Verwaltungsrechten auf diesem Server:
consent-then-host = Danach geht es zurück zu { $host }.
consent-then-device = Danach geht es zurück zu einer App auf diesem Gerät.
consent-then-code = Danach siehst du einen Code, den du in { $app } eingibst.
consent-allow = { $app } Zugang geben
consent-deny = Ablehnen

consent-all-read = Alles in deinem Konto sehen
consent-all-write = Alles in deinem Konto ändern und in deinem Namen handeln
consent-all-both = Alles in deinem Konto sehen und ändern und in deinem Namen handeln
consent-matrix-both = Dein ganzes Chat-Konto nutzen: Nachrichten lesen und senden sowie Räume, Geräte und Einstellungen ändern
consent-accounts-read = Deine Kontodaten sehen
consent-accounts-write = Dein Profil ändern
consent-accounts-both = Deine Kontodaten sehen und dein Profil ändern
consent-blocks-read = Sehen, wen du blockierst
consent-blocks-write = Personen blockieren und die Blockierung aufheben
consent-blocks-both = Sehen und ändern, wen du blockierst
consent-bookmarks-read = Deine Lesezeichen sehen
consent-bookmarks-write = Lesezeichen hinzufügen und entfernen
consent-bookmarks-both = Deine Lesezeichen sehen und ändern
consent-conversations-write = Unterhaltungen stummschalten und löschen
consent-favourites-read = Deine Favoriten sehen
consent-favourites-write = Favoriten hinzufügen und entfernen
consent-favourites-both = Deine Favoriten sehen und ändern
consent-filters-read = Deine Filter sehen
consent-filters-write = Deine Filter ändern
consent-filters-both = Deine Filter sehen und ändern
consent-follow-both = Sehen und ändern, wem du folgst und wen du blockierst oder stummschaltest
consent-follows-read = Sehen, wem du folgst
consent-follows-write = Personen folgen und entfolgen
consent-follows-both = Sehen und ändern, wem du folgst
consent-lists-read = Deine Listen sehen
consent-lists-write = Deine Listen ändern
consent-lists-both = Deine Listen sehen und ändern
consent-media-write = Bilder, Töne und Videos hochladen
consent-mutes-read = Sehen, wen du stummschaltest
consent-mutes-write = Personen und Unterhaltungen stummschalten und die Stummschaltung aufheben
consent-mutes-both = Sehen und ändern, wen du stummschaltest
consent-notifications-read = Deine Benachrichtigungen und die Regeln dafür sehen
consent-notifications-write = Deine Benachrichtigungen löschen und die Regeln dafür ändern
consent-notifications-both = Deine Benachrichtigungen sehen und löschen und die Regeln dafür ändern
consent-profile-read = Deinen Namen und dein Profil sehen
consent-push-both = Dir Push-Benachrichtigungen senden, die Nachrichten darin sehen und die Regeln dafür sehen und ändern
consent-reports-write = In deinem Namen Personen und Beiträge melden
consent-search-read = In deinem Namen suchen
consent-statuses-read = Beiträge sehen, auch private, die du sehen kannst
consent-statuses-write = In deinem Namen Beiträge veröffentlichen, bearbeiten und löschen
consent-statuses-both = Beiträge sehen, auch private, und sie in deinem Namen veröffentlichen, bearbeiten und löschen

consent-admin-all-read = Alles sehen, was nur die Verwaltung sieht
consent-admin-all-write = Alles ändern, was nur die Verwaltung ändert
consent-admin-all-both = Alles auf diesem Server sehen und ändern
consent-admin-accounts-read = Alle Konten mit ihren vertraulichen Daten sehen
consent-admin-accounts-write = Konten moderieren
consent-admin-accounts-both = Alle Konten mit ihren vertraulichen Daten sehen und moderieren
consent-admin-reports-read = Meldungen sehen
consent-admin-reports-write = Meldungen bearbeiten
consent-admin-reports-both = Meldungen sehen und bearbeiten
consent-admin-domain_allows-read = Sehen, welche Server zugelassen sind
consent-admin-domain_allows-write = Ändern, welche Server zugelassen sind
consent-admin-domain_allows-both = Sehen und ändern, welche Server zugelassen sind
consent-admin-domain_blocks-read = Sehen, welche Server gesperrt sind
consent-admin-domain_blocks-write = Ändern, welche Server gesperrt sind
consent-admin-domain_blocks-both = Sehen und ändern, welche Server gesperrt sind
consent-admin-ip_blocks-read = Sehen, welche IP-Adressen gesperrt sind
consent-admin-ip_blocks-write = Ändern, welche IP-Adressen gesperrt sind
consent-admin-ip_blocks-both = Sehen und ändern, welche IP-Adressen gesperrt sind
consent-admin-email_domain_blocks-read = Sehen, welche E-Mail-Anbieter gesperrt sind
consent-admin-email_domain_blocks-write = Ändern, welche E-Mail-Anbieter gesperrt sind
consent-admin-email_domain_blocks-both = Sehen und ändern, welche E-Mail-Anbieter gesperrt sind
consent-admin-canonical_email_blocks-read = Sehen, welche E-Mail-Adressen gesperrt sind
consent-admin-canonical_email_blocks-write = Ändern, welche E-Mail-Adressen gesperrt sind
consent-admin-canonical_email_blocks-both = Sehen und ändern, welche E-Mail-Adressen gesperrt sind

## Der Code, für Apps, die ihn nicht selbst entgegennehmen

code-title = Dein Code für { $app }
code-sentence = Kopiere diesen Code und gib ihn in { $app } ein.
code-label = Code
code-copy = Kopieren
code-copied = Kopiert
code-care = Er gilt einmal und nur wenige Minuten. Zeige ihn niemandem sonst.

## Auf dem Weg zurück zur App

return-title = Zurück zu { $app }
return-sentence = Deine Antwort ist auf dem Weg zu { $app }. Falls nichts geschieht, drücke auf die Schaltfläche.
return-button = Weiter zu { $app }

## Dein Konto

nav-overview = Übersicht
nav-notifications = Benachrichtigungen
nav-devices = Geräte
nav-security = Sicherheit
nav-skip = Zum Inhalt springen
notice-saved = Gespeichert.
notice-keyword-muted = Gespeichert. Dieses Wort war eines deiner Schlüsselwörter. Jetzt ist es stattdessen stumm.
notice-word-unmuted = Gespeichert. Dieses Wort war stumm. Jetzt ist es stattdessen ein Schlüsselwort.
notice-removed = Entfernt.
notice-not-saved = Es wurde nichts gespeichert, weil du nicht mehr angemeldet warst. Bitte versuche es noch einmal.
notice-signed-out = Deine Sitzung in diesem Browser ist beendet, zum Beispiel weil dein Passwort geändert wurde oder viel Zeit vergangen ist. Bitte melde dich wieder an.
notice-app-removed = Diese App hat keinen Zugang mehr zu deinem Konto.
pager-position = Seite { $page } von { $pages }
pager-previous = Vorige Seite
pager-next = Nächste Seite
sign-out-button = Abmelden
email-change = E-Mail-Adresse ändern
email-add = E-Mail-Adresse hinzufügen
apps-title = Apps mit Zugang
apps-none = Keine App hat Zugang zu deinem Konto.
apps-removal = Eine App, die du entfernst, verliert ihren Zugang sofort. Du kannst sie später wieder zulassen.
apps-since = Seit { $time }
apps-remove = Zugang entziehen
apps-matrix = Matrix-Clients
apps-matrix-note = Apps, in denen du dich mit deinem Passwort angemeldet hast.
apps-matrix-device-note = Dort hast du dich mit deinem Passwort angemeldet.
apps-command-line = Befehlszeile
apps-issued-note = Ausgestellt von den Betreibern dieses Servers.

## Notifications

notifications-pause = Alles pausieren
notifications-on = Benachrichtigungen sind an.
notifications-paused = Alles ist pausiert, bis du es wieder einschaltest.
notifications-paused-until = Alles ist pausiert bis { $time }.
notifications-pause-hour = Eine Stunde pausieren
notifications-pause-8-hours = 8 Stunden pausieren
notifications-pause-morning = Bis 8:00 Uhr morgens pausieren
notifications-pause-open = Pausieren, bis ich es wieder einschalte
notifications-resume = Wieder einschalten
notifications-utc = Die Zeiten auf dieser Seite sind in UTC, die von deiner Zeitzone abweichen kann. Das gilt auch für 8:00 Uhr morgens, aber nicht für die Ruhezeiten: Für sie gilt die Zeitzone, die du dort wählst.
notifications-quiet-sentence = Zeiten der Woche, zu denen du Ruhe willst, zum Beispiel die Nacht.
notifications-quiet-off = Ruhezeiten sind aus.
notifications-quiet-later = Ruhezeiten sind an. Gerade ist keine Ruhezeit.
notifications-quiet-until = Es ist Ruhe bis { $time }.
notifications-quiet-always = Es ist immer Ruhe.
notifications-quiet-other-rule = Jetzt ist Ruhe wegen Zeiten, die eine App eingestellt hat. Das Formular unten ändert sie nicht.
notifications-quiet-custom = Eine App hat Zeiten eingestellt, die diese Seite nicht zeigen kann. Speichern ersetzt sie.
notifications-quiet-days = Beginnt am
notifications-quiet-monday = Montag
notifications-quiet-tuesday = Dienstag
notifications-quiet-wednesday = Mittwoch
notifications-quiet-thursday = Donnerstag
notifications-quiet-friday = Freitag
notifications-quiet-saturday = Samstag
notifications-quiet-sunday = Sonntag
notifications-quiet-from = Von
notifications-quiet-to = Bis
notifications-quiet-to-hint = Wenn das nicht nach dem Beginn liegt, ist es eine Zeit am nächsten Tag.
notifications-quiet-zone = Zeitzone
notifications-quiet-zone-hint = Zum Beispiel Europe/Berlin oder UTC
notifications-quiet-level = Wie ruhig?
notifications-quiet-important = Außer bei Erwähnungen und Schlüsselwörtern
notifications-quiet-important-hint = Du wirst weiter benachrichtigt bei Erwähnungen, Schlüsselwörtern und Einladungen und von Personen und Räumen, für die du das eingestellt hast. Anrufe und alle anderen Nachrichten bleiben still.
notifications-quiet-total = Völlige Ruhe
notifications-quiet-total-hint = Nichts benachrichtigt dich, auch keine Erwähnungen.
notifications-quiet-end = Ausschalten
notifications-devices = Geräte
notifications-all-devices = Alle Geräte
notifications-device = Diese Einstellungen gelten für Geräte mit dem Profil { $profile }. Sie gehen denen für alle Geräte vor.
notifications-more-profiles = Weitere Geräteprofile, die hier nicht zu sehen sind: { $count }.
notifications-keywords = Schlüsselwörter
notifications-keywords-sentence = Eine Nachricht mit einem dieser Wörter benachrichtigt dich, außer sie enthält auch ein stummgeschaltetes Wort.
notifications-keywords-none = Du hast keine Schlüsselwörter.
notifications-muted-words = Stumme Wörter
notifications-muted-words-sentence = Eine Nachricht mit einem stummgeschalteten Wort bleibt still, außer wenn sie dich oder mit @room alle erwähnt oder deinen Anzeigenamen enthält.
notifications-muted-words-none = Du hast keine stummen Wörter.
notifications-mute-word = Ein Wort stummschalten
notifications-mute = Stummschalten
notifications-word = Wort
notifications-word-hint = Groß- und Kleinschreibung ist egal; * steht für beliebige Zeichen, ? für eines.
notifications-sound = Ton
notifications-highlight = Hervorheben
notifications-add-keyword = Schlüsselwort hinzufügen
notifications-save = Speichern
notifications-remove = Entfernen
notifications-subjects = Personen und Räume
notifications-subjects-sentence = Stummgeschaltete Personen und Räume bleiben still, außer wenn eine Nachricht dich oder mit @room alle erwähnt oder deinen Anzeigenamen, deinen Benutzernamen oder eines deiner Schlüsselwörter enthält.
notifications-subjects-none = Du hast keine Einstellungen für Personen oder Räume.
notifications-id = Person oder Raum
notifications-id-hint = Die ID einer Person, etwa @name:server, oder eines Raums, etwa !id:server. Ein Link aus deiner App geht auch.
notifications-choice = Benachrichtigungen
notifications-choice-hint = Wenn die Zeit um ist, wird der Eintrag entfernt.
notifications-choice-notify = Immer benachrichtigen
notifications-choice-mute = Stumm, bis ich es ändere
notifications-choice-mute-hour = Stumm für eine Stunde
notifications-choice-mute-8-hours = Stumm für 8 Stunden
notifications-choice-mute-day = Stumm für einen Tag
notifications-choice-mute-week = Stumm für eine Woche
notifications-add = Hinzufügen
notifications-add-subject = Person oder Raum hinzufügen
notifications-people = Personen
notifications-rooms = Räume
notifications-off = Aus
notifications-muted = Stumm
notifications-silent = Stumm, auch bei Erwähnungen
notifications-notifies = Benachrichtigt immer
notifications-until = Bis { $time }
notifications-switches = Was dich benachrichtigt
notifications-switches-sentence = Das gilt, wo keine deiner eigenen Einstellungen passt.
notifications-messages = Nachrichten
notifications-mentions = Erwähnungen
notifications-calls = Anrufe und Einladungen
notifications-rare = Bots, Bearbeitungen, Reaktionen und Änderungen an Räumen
notifications-rare-sentence = Reaktionen und Änderungen an Räumen benachrichtigen dich auch in stummgeschalteten Räumen.
notifications-switch-on = An
notifications-switch-partly = Teilweise an
notifications-switch-off = Aus
notifications-switch-one-to-one = Benachrichtige mich über Nachrichten in Räumen mit einer anderen Person
notifications-switch-group = Benachrichtige mich über Nachrichten in allen anderen Räumen
notifications-switch-bots = Benachrichtige mich über Nachrichten von Bots
notifications-switch-edits = Benachrichtige mich, wenn eine Nachricht bearbeitet wird
notifications-switch-reactions = Benachrichtige mich über Reaktionen
notifications-switch-mention = Benachrichtige mich, wenn mich jemand erwähnt
notifications-switch-display-name = Benachrichtige mich, wenn eine Nachricht meinen Anzeigenamen enthält
notifications-switch-user-name = Benachrichtige mich, wenn eine Nachricht meinen Benutzernamen enthält
notifications-switch-room-mention = Benachrichtige mich, wenn jemand mit @room alle in einem Raum erwähnt
notifications-switch-call = Benachrichtige mich, wenn mich jemand anruft
notifications-switch-invitation = Benachrichtige mich, wenn mich jemand in einen Raum einlädt
notifications-switch-upgrade = Benachrichtige mich, wenn ein Raum durch einen neuen ersetzt wird
notifications-switch-members = Benachrichtige mich, wenn Personen kommen, gehen oder ihren Namen ändern
notifications-switch-servers = Benachrichtige mich, wenn sich ändert, welche Server an einem Raum teilnehmen dürfen
notifications-error-word-blank = Bitte gib ein Wort ein.
notifications-error-word-too-long = Dieses Wort ist zu lang. Bitte gib ein kürzeres ein.
notifications-error-id-blank = Bitte gib die ID einer Person oder eines Raums ein.
notifications-error-id-too-long = Das ist zu lang für eine ID. Bitte prüfe sie.
notifications-error-room-alias = Das ist die Adresse eines Raums, nicht seine ID. Die ID beginnt mit !, und deine App zeigt sie in den Einstellungen des Raums.
notifications-error-person-without-server = Der Server fehlt. Die ID einer Person sieht so aus: @name:server
notifications-error-id-invalid = Das ist keine ID. Die ID einer Person sieht aus wie @name:server, die eines Raums wie !id:server.
notifications-error-text-blank = Bitte gib eine Nachricht ein.
notifications-error-quiet-days-missing = Bitte wähle mindestens einen Tag.
notifications-error-quiet-time-invalid = Bitte gib zwei Zeiten ein, zum Beispiel 22:00 und 07:00.
notifications-error-quiet-zone-unknown = Dieser Server kennt diese Zeitzone nicht. Eine Zeitzone sieht aus wie Europe/Berlin.
notifications-error-quiet-changed = Die Ruhezeiten wurden inzwischen geändert, vielleicht in einem anderen Tab oder einer App. Es wurde nichts gespeichert. Hier siehst du den jetzigen Stand.
notifications-error-too-many = Du hast so viele Regeln, wie dieser Server erlaubt ({ $count }). Bitte entferne zuerst einige.
notifications-error-too-large = Deine Regeln brauchen so viel Platz, wie dieser Server erlaubt. Bitte entferne zuerst einige.
notifications-error-changed = { $name } wurde inzwischen geändert, vielleicht in einem anderen Tab oder einer App. Es wurde nichts gespeichert. Hier siehst du den jetzigen Stand.
notifications-error-removed = { $name } wurde inzwischen entfernt, vielleicht in einem anderen Tab oder einer App. Es wurde nichts gespeichert.
notifications-error-other = Das konnte nicht gespeichert werden. Bitte prüfe deine Eingabe.

## Devices

devices-intro = Apps und Browser, die deine Benachrichtigungen bekommen.
devices-off = Dieser Server sendet keine Benachrichtigungen an Geräte.
devices-none = Noch bekommt kein Gerät deine Benachrichtigungen. Melde dich auf einem Gerät in einer App an und schalte dort Benachrichtigungen ein. Dann erscheint das Gerät hier.
devices-mastodon = Mastodon-App, über { $host }
devices-gateway = Matrix-App, über das Gateway { $host }
devices-web-push = Matrix-App, über { $host }
devices-waiting = Die App muss noch bestätigen
devices-disabled = In der App ausgeschaltet
devices-delivered = Zuletzt zugestellt: { $time }
devices-failed = Letzter Versuch gescheitert: { $time }
devices-test = Test senden
devices-test-body = Benachrichtigungen erreichen dieses Gerät.
devices-error-unreachable = Der Push-Dienst ist nicht erreichbar.
devices-error-timeout = Der Push-Dienst hat nicht rechtzeitig geantwortet.
devices-error-denied = Der Push-Dienst nimmt von diesem Server keine Nachrichten an.
devices-error-busy = Der Push-Dienst ist überlastet und bittet diesen Server zu warten.
devices-error-rejected = Der Push-Dienst hat die Nachricht abgelehnt (Status { $status }).
devices-error-status = Der Push-Dienst meldet einen Fehler (Status { $status }).
devices-error-gone = Der Push-Dienst kennt dieses Gerät nicht mehr.
devices-error-other = Die Nachricht konnte nicht gesendet werden.
deliveries-title = Letzte Zustellungen
deliveries-tests = Letzte Tests
deliveries-test = Test
deliveries-ack = Bitte um Bestätigung des Geräts
deliveries-counts = Zahl am App-Symbol
deliveries-other = Benachrichtigung
deliveries-former-device = Ein Gerät, das nicht mehr in der Liste steht
deliveries-waiting = Wartet seit { $time }
deliveries-next = Nächster Versuch: { $time }
deliveries-delivered = Zugestellt: { $time }
deliveries-dropped = Nicht zugestellt: { $time }
deliveries-expired = Nicht rechtzeitig zugestellt: { $time }
deliveries-removed = Nicht zugestellt, weil das Gerät entfernt wurde: { $time }
deliveries-read = Nicht mehr nötig, weil schon anderswo gelesen: { $time }
deliveries-replaced = Durch eine neuere ersetzt: { $time }

## Rules of apps, and titles of rules

notifications-rules = Regeln von Apps
notifications-rules-sentence = Diese Regeln haben Apps angelegt. Die Einstellungen oben können sie nicht zeigen.
rules-about-word = Nachrichten mit dem Wort { $word }
rules-about-room = Nachrichten im Raum { $room }
rules-about-sender = Nachrichten von { $sender }
rules-about-other = Regel mit eigenen Bedingungen
rules-about-quiet-hours = Ruhezeiten
rules-about-suppress-notices = Nachrichten von Bots
rules-about-invite-for-me = Einladungen in Räume
rules-about-member-event = Personen, die kommen, gehen oder ihren Namen ändern
rules-about-is-user-mention = Nachrichten, die dich erwähnen
rules-about-contains-display-name = Nachrichten mit deinem Anzeigenamen
rules-about-is-room-mention = Nachrichten, die alle in einem Raum erwähnen
rules-about-roomnotif = Nachrichten mit @room im Text
rules-about-tombstone = Räume, die durch einen neuen ersetzt werden
rules-about-reaction = Reaktionen
rules-about-room-server-acl = Änderungen, welche Server an einem Raum teilnehmen dürfen
rules-about-suppress-edits = Bearbeitungen von Nachrichten
rules-about-contains-user-name = Nachrichten mit deinem Benutzernamen
rules-about-call = Anrufe
rules-about-encrypted-room-one-to-one = Verschlüsselte Nachrichten in Räumen mit einer anderen Person
rules-about-room-one-to-one = Nachrichten in Räumen mit einer anderen Person
rules-about-message = Nachrichten in allen anderen Räumen
rules-about-encrypted = Verschlüsselte Nachrichten in allen anderen Räumen
rules-notify = Benachrichtigt
rules-silent = Still
rules-delete = Löschen
rules-delete-effect = Eine gelöschte Regel lässt sich nicht zurückholen.

## Try a message

try-title = Nachricht testen
try-intro = Sieh nach, was deine Regeln mit einer Nachricht tun. Es wird nichts gesendet oder gespeichert.
try-text = Nachricht
try-sender = Von
try-sender-hint = Freiwillig: ein Name auf diesem Server oder eine ID wie @name:server.
try-chat = Wo
try-group = In einer Gruppe
try-direct = In einem Chat nur mit dir
try-button = Testen
try-notify = Du würdest benachrichtigt, { $reason }.
try-sound = Du würdest mit einem Ton benachrichtigt, { $reason }.
try-silent = Du würdest nicht benachrichtigt, { $reason }.
try-because-own = weil es deine eigene Nachricht ist
try-because-no-rule = weil keine Regel passt
try-because-paused = weil alles pausiert ist
try-because-quiet = weil gerade Ruhezeit ist
try-because-switched-on = weil „{ $name }“ eingeschaltet ist
try-because-switched-off = weil du „{ $name }“ ausgeschaltet hast
try-because-keyword = wegen deines Schlüsselworts { $name }
try-because-muted-word = weil du das Wort { $name } stummgeschaltet hast
try-because-sender = wegen deiner Regel für { $name }
try-because-muted-sender = weil du { $name } stummgeschaltet hast
try-because-rule = wegen deiner Regel { $name }

## Security

deletion-pending = Dein Konto wird gelöscht: { $time }.
deletion-keep = Mein Konto behalten
password-effect = Ein neues Passwort meldet alle anderen Browser und alle Apps ab. Hier bleibst du angemeldet.
password-current = Aktuelles Passwort
password-new = Neues Passwort
password-again = Neues Passwort wiederholen
password-button = Passwort ändern
password-wrong = Das ist nicht dein Passwort.
password-hint = Mindestens { $count } Zeichen und kein verbreitetes Passwort
password-different = Die beiden Passwörter sind verschieden.
email-verified = Mit dieser Adresse kannst du dich anmelden. Nach einer Änderung meldest du dich nur noch mit dem Benutzernamen an.
sessions-title = Wo du angemeldet bist
sessions-this = Dieser Browser
sessions-browser = { $browser } auf { $system }
sessions-unknown = Unbekannter Browser
sessions-since = Angemeldet am { $time }
sessions-more = Weitere Browser
sessions-others = Überall sonst abmelden
used-recently = In der letzten Stunde verwendet
used-hours =
    Zuletzt vor { $count ->
        [one] einer Stunde
       *[other] { $count } Stunden
    } verwendet
used-days =
    Zuletzt vor { $count ->
        [one] einem Tag
       *[other] { $count } Tagen
    } verwendet
used-never = Noch nicht verwendet
tokens-count =
    { $count ->
        [one] Einmal
       *[other] { $count }-mal
    } angemeldet
only-last-used =
    Hier { $count ->
        [one] wird nur die zuletzt verwendete Anmeldung
       *[other] werden nur die { $count } zuletzt verwendeten Anmeldungen
    } gezeigt.
data-title = Deine Daten
data-content = Eine Datei mit deinem Konto, deinen Apps, Sitzungen, Geräten und Benachrichtigungsregeln und einem Protokoll der Ereignisse in deinem Konto. Passwörter enthält sie nicht.
data-button = Meine Daten herunterladen
delete-title = Konto löschen
delete-effect = Dein Konto wird nach einem Tag gelöscht, mit seinen Apps und Benachrichtigungsregeln. Bis dahin kannst du es dir anders überlegen. Mit deinem Namen kann sich sonst niemand registrieren.
delete-button = Mein Konto löschen
delete-last-admin = Du verwaltest diesen Server allein. Gib zuerst jemand anderem die Verwaltungsrechte.
notice-token-revoked = Die App ist dort abgemeldet.
notice-password-changed = Dein Passwort ist geändert. Alle anderen Browser und alle Apps sind abgemeldet.
notice-email-changed = Deine E-Mail-Adresse ist aktualisiert.
notice-session-ended = Der andere Browser ist abgemeldet.
notice-sessions-ended = Alle anderen Browser sind abgemeldet.
notice-deletion-cancelled = Dein Konto bleibt bestehen.
notice-test-sent = Der Test ist unterwegs. In der Liste unten steht, ob er angekommen ist. Lade die Seite neu, um sie zu aktualisieren.
notice-test-not-sent = Es wurde kein Test gesendet: Das Gerät bekommt gerade keine Nachrichten, oder es warten zu viele darauf.

## Sign up

sign-up-name = Benutzername
sign-up-name-hint = Kleinbuchstaben von a bis z, Ziffern und Unterstriche, in der Mitte auch Punkte und Bindestriche. Er lässt sich später nicht ändern.
sign-up-email = E-Mail-Adresse
sign-up-email-hint = Freiwillig. Die Betreiber dieses Servers können dich dort erreichen. Du meldest dich mit dem Benutzernamen an.
sign-up-again = Passwort wiederholen
sign-up-agreement = Ich halte mich an die Regeln dieses Servers.
sign-up-rules = Regeln lesen
sign-up-button = Mein Konto erstellen
field-username-blank = Bitte wähle einen Benutzernamen.
field-username-name-invalid = Bitte verwende nur Kleinbuchstaben von a bis z, Ziffern und Unterstriche. In der Mitte sind auch Punkte und Bindestriche möglich.
field-username-too-long = Bitte wähle einen Benutzernamen mit höchstens { $count } Zeichen.
field-username-reserved = Dieser Benutzername ist reserviert. Bitte wähle einen anderen.
field-username-taken = Dieser Benutzername ist schon vergeben. Bitte wähle einen anderen.
field-email-email-invalid = Bitte prüfe die Adresse. Sie sollte so aussehen: name@example.org
field-email-too-long = Bitte gib eine Adresse mit höchstens { $count } Zeichen ein.
field-password-blank = Bitte wähle ein Passwort.
field-password-too-short = Bitte wähle ein Passwort mit mindestens { $count } Zeichen.
field-password-too-long = Bitte wähle ein Passwort mit höchstens { $count } Zeichen.
field-password-password-common = Dieses Passwort ist leicht zu erraten. Bitte wähle ein anderes.
field-agreement-not-accepted = Bitte stimme den Regeln dieses Servers zu.
sign-up-sign-in = Ich habe schon ein Konto
registration-closed-title = Keine neuen Konten
registration-closed-sentence = Dieser Server nimmt keine neuen Konten an.
registration-closed-advice = Bitte frage die Betreiber.

## Front page

front-title = Willkommen
front-sentence = Hier entscheidest du, welche Apps dein Konto nutzen dürfen und welche Nachrichten dich benachrichtigen.
front-signed-in = Du bist als { $account } angemeldet.
front-account = Zu deinem Konto
front-developers = Für Entwickler
front-developers-sentence = Apps verbinden sich mit diesem Server über OAuth 2.0 und über die APIs von Mastodon und Matrix.
front-api = Beschreibung der API (OpenAPI)
front-documentation = Dokumentation

## Abgemeldet

signed-out-title = Du bist abgemeldet
signed-out-sentence = Du kannst diese Seite schließen.
signed-out-button = Wieder anmelden

## Was schiefgehen kann

invalid-request-title = Diese Anfrage lässt sich nicht beantworten
invalid-request-advice = Geh zurück zur App und versuche es noch einmal. Falls es wieder geschieht, sag bitte denen Bescheid, die die App entwickeln.
malformed-sentence = Dieser Server konnte nicht lesen, was gesendet wurde.
app-error-unknown = Dieser Server kennt die App nicht, von der du kommst, oder lässt sie nicht mehr zu.
app-error-redirect-uri = Die App will dich an eine Adresse schicken, die sie hier nicht angemeldet hat.
app-error-scope = Die App bittet um Rechte, die sie hier nicht bekommen kann.
app-error-request = Die Anfrage der App ist unvollständig oder fehlerhaft.
app-error-details = Für die Entwickler der App:
denied-title = Zugang abgelehnt
denied-sentence = Die App hat keinen Zugang bekommen. Nichts von dir wurde geteilt.
denied-advice = Du kannst diese Seite schließen.
expired-title = Diese Anfrage ist nicht mehr offen
expired-sentence = Sie wurde schon beantwortet, oder es ist zu viel Zeit vergangen.
expired-advice = Geh zurück zur App und beginne von vorn.
forged-form-title = Dieses Formular konnte nicht geprüft werden
forged-form-sentence = Vielleicht hast du dich in einem anderen Tab an- oder abgemeldet, oder dein Browser hat das Cookie dieses Servers nicht gesendet.
forged-form-advice = Erlaube Cookies für diesen Server, geh zurück und versuche es noch einmal.
rate-limited-title = Zu viele Anfragen
rate-limited-sentence = Dieser Server hat in kurzer Zeit zu viele Anfragen von dir bekommen.
rate-limited-advice =
    Bitte versuche es in { $minutes ->
        [one] einer Minute
       *[other] { $minutes } Minuten
    } noch einmal.
internal-title = Hier ist etwas schiefgegangen
internal-sentence = Der Fehler liegt bei diesem Server, nicht bei dir. Er wurde festgehalten.
internal-advice = Bitte versuche es gleich noch einmal.
busy-title = Dieser Server ist ausgelastet
busy-sentence = Er kann gerade nicht antworten. Deine Anfrage war nicht falsch.
busy-advice = Bitte versuche es gleich noch einmal.
not-found-title = Seite nicht gefunden
not-found-sentence = Unter dieser Adresse gibt es nichts.
not-found-advice = Bitte prüfe die Adresse oder geh zurück zu der App, aus der du kommst.

## Fehler einer Registrierung

validation-failed = Prüfung fehlgeschlagen: { $errors }
validation-list = { $errors }, { $error }

app-name-blank = Name der App darf nicht leer sein
app-name-invalid = Name der App ist ungültig
app-name-too-long = Name der App ist zu lang (höchstens { $count } Zeichen)
app-redirect-uri-blank = Weiterleitungs-URI darf nicht leer sein
app-redirect-uri-forbidden = Weiterleitungs-URI ist auf diesem Server nicht erlaubt.
app-redirect-uri-invalid = Weiterleitungs-URI muss eine gültige URI sein.
app-redirect-uri-relative = Weiterleitungs-URI muss eine absolute URI sein.
app-redirect-uri-opaque = Weiterleitungs-URI muss ein Schema angeben.
app-redirect-uri-fragment = Weiterleitungs-URI darf kein Fragment enthalten.
app-redirect-uri-user-info = Weiterleitungs-URI darf keinen Benutzernamen und kein Passwort enthalten.
app-redirect-uri-wildcard = Weiterleitungs-URI darf keinen Platzhalter enthalten.
app-redirect-uri-insecure = Weiterleitungs-URI muss eine HTTPS-URI sein (http ist nur für localhost erlaubt).
app-redirect-uri-too-long = Weiterleitungs-URI ist zu lang (höchstens { $count } Zeichen)
app-scopes = Berechtigungen stimmen nicht mit denen überein, die der Server kennt.
app-unknown-scope = Berechtigungen stimmen nicht mit denen überein, die der Server kennt: { $scope } ist unbekannt (scopes_supported, /.well-known/oauth-authorization-server).
app-website-invalid = Website der App ist keine gültige URL
app-website-too-long = Website der App ist zu lang (höchstens { $count } Zeichen)
app-auth-method = Authentifizierungsverfahren der App (token_endpoint_auth_method) muss client_secret_basic oder client_secret_post sein (öffentliche Apps ohne Geheimnis werden nicht unterstützt: registriere jede Installation der App, damit sie ihr eigenes Geheimnis bekommt)

account-error = { $field } { $error }
account-field-username = Benutzername
account-field-email = E-Mail-Adresse
account-field-password = Passwort
account-field-agreement = Nutzungsvereinbarung
account-blank = darf nicht leer sein
account-name-invalid = darf nur Kleinbuchstaben, Ziffern und Unterstriche enthalten, Punkte und Bindestriche nur innen
account-email-invalid = ist keine gültige E-Mail-Adresse
account-too-long = ist zu lang (höchstens { $count } Zeichen)
account-too-short = ist zu kurz (mindestens { $count } Zeichen)
account-password-common = ist zu leicht zu erraten; wähle ein anderes
account-reserved = ist reserviert
account-taken = ist bereits vergeben
account-not-accepted = muss akzeptiert werden
