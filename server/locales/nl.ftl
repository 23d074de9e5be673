# Nederlands. Aanspreekvorm: je.

## Inloggen

sign-in-title = Inloggen
sign-in-app = { $app } wil je account gebruiken.
sign-in-name = Naam of e-mailadres
sign-in-password = Wachtwoord
sign-in-show-password = Wachtwoord tonen
sign-in-button = Inloggen
sign-in-wrong = De naam of het wachtwoord klopt niet. Controleer ze allebei.
sign-in-wrong-address = Als je je account hier hebt aangemaakt, gebruik dan je gebruikersnaam in plaats van het e-mailadres.
sign-in-disabled = Dit account is uitgeschakeld. Neem contact op met de beheerders van deze server.
sign-in-too-many =
    Te veel pogingen. Probeer het over { $minutes ->
        [one] één minuut
       *[other] { $minutes } minuten
    } opnieuw.
sign-in-forgot = Wachtwoord vergeten?
sign-in-forgot-ask = De beheerders van deze server kunnen je een nieuw wachtwoord geven.
sign-in-sign-up = Account aanmaken
languages = Taal

## Toestemming

consent-title = { $app } toestaan je account te gebruiken?
consent-operator-app = De beheerders van deze server hebben deze app toegevoegd.
consent-local-app = Elke app kan deze naam gebruiken. Sta dit alleen toe als je de app net zelf op dit apparaat hebt geopend.
consent-account = Je account
consent-switch = Een ander account gebruiken
consent-allows = Dan mag { $app }:
consent-admin-allows = Met je beheerdersrechten op deze server:
consent-then-host = Daarna ga je terug naar { $host }.
consent-then-device = Daarna ga je terug naar een app op dit apparaat.
consent-then-code = Daarna zie je een code die je in { $app } invoert.
consent-allow = { $app } toegang geven
consent-deny = Weigeren

consent-all-read = Alles in je account zien
consent-all-write = Alles in je account wijzigen en namens jou handelen
consent-all-both = Alles in je account zien en wijzigen, en namens jou handelen
consent-matrix-both = Je hele chataccount gebruiken: berichten lezen en versturen, en kamers, apparaten en instellingen wijzigen
consent-accounts-read = Je accountgegevens zien
consent-accounts-write = Je profiel wijzigen
consent-accounts-both = Je accountgegevens zien en je profiel wijzigen
consent-blocks-read = Zien wie je blokkeert
consent-blocks-write = Mensen blokkeren en deblokkeren
consent-blocks-both = Zien en wijzigen wie je blokkeert
consent-bookmarks-read = Je bladwijzers zien
consent-bookmarks-write = Bladwijzers toevoegen en verwijderen
consent-bookmarks-both = Je bladwijzers zien en wijzigen
consent-conversations-write = Gesprekken negeren en verwijderen
consent-favourites-read = Je favorieten zien
consent-favourites-write = Favorieten toevoegen en verwijderen
consent-favourites-both = Je favorieten zien en wijzigen
consent-filters-read = Je filters zien
consent-filters-write = Je filters wijzigen
consent-filters-both = Je filters zien en wijzigen
consent-follow-both = Zien en wijzigen wie je volgt, blokkeert en negeert
consent-follows-read = Zien wie je volgt
consent-follows-write = Mensen volgen en ontvolgen
consent-follows-both = Zien en wijzigen wie je volgt
consent-lists-read = Je lijsten zien
consent-lists-write = Je lijsten wijzigen
consent-lists-both = Je lijsten zien en wijzigen
consent-media-write = Afbeeldingen, geluid en video’s uploaden
consent-mutes-read = Zien wie je negeert
consent-mutes-write = Mensen en gesprekken negeren en niet langer negeren
consent-mutes-both = Zien en wijzigen wie je negeert
consent-notifications-read = Je meldingen en de regels daarvoor zien
consent-notifications-write = Je meldingen wissen en de regels daarvoor wijzigen
consent-notifications-both = Je meldingen zien en wissen, en de regels daarvoor wijzigen
consent-profile-read = Je naam en profiel zien
consent-push-both = Je pushmeldingen sturen, de berichten daarin zien, en de regels daarvoor zien en wijzigen
consent-reports-write = Namens jou mensen en berichten rapporteren
consent-search-read = Namens jou zoeken
consent-statuses-read = Berichten zien, ook privéberichten die jij kunt zien
consent-statuses-write = Namens jou berichten plaatsen, bewerken en verwijderen
consent-statuses-both = Berichten zien, ook privéberichten, en ze namens jou plaatsen, bewerken en verwijderen

consent-admin-all-read = Alles zien wat alleen het beheer ziet
consent-admin-all-write = Alles wijzigen wat alleen het beheer wijzigt
consent-admin-all-both = Alles op deze server zien en wijzigen
consent-admin-accounts-read = Alle accounts en hun privégegevens zien
consent-admin-accounts-write = Accounts modereren
consent-admin-accounts-both = Alle accounts en hun privégegevens zien, en ze modereren
consent-admin-reports-read = Rapportages zien
consent-admin-reports-write = Rapportages afhandelen
consent-admin-reports-both = Rapportages zien en afhandelen
consent-admin-domain_allows-read = Zien welke servers zijn toegestaan
consent-admin-domain_allows-write = Wijzigen welke servers zijn toegestaan
consent-admin-domain_allows-both = Zien en wijzigen welke servers zijn toegestaan
consent-admin-domain_blocks-read = Zien welke servers zijn geblokkeerd
consent-admin-domain_blocks-write = Wijzigen welke servers zijn geblokkeerd
consent-admin-domain_blocks-both = Zien en wijzigen welke servers zijn geblokkeerd
consent-admin-ip_blocks-read = Zien welke IP-adressen zijn geblokkeerd
consent-admin-ip_blocks-write = Wijzigen welke IP-adressen zijn geblokkeerd
consent-admin-ip_blocks-both = Zien en wijzigen welke IP-adressen zijn geblokkeerd
consent-admin-email_domain_blocks-read = Zien welke e-mailproviders zijn geblokkeerd
consent-admin-email_domain_blocks-write = Wijzigen welke e-mailproviders zijn geblokkeerd
consent-admin-email_domain_blocks-both = Zien en wijzigen welke e-mailproviders zijn geblokkeerd
consent-admin-canonical_email_blocks-read = Zien welke e-mailadressen zijn geblokkeerd
consent-admin-canonical_email_blocks-write = Wijzigen welke e-mailadressen zijn geblokkeerd
consent-admin-canonical_email_blocks-both = Zien en wijzigen welke e-mailadressen zijn geblokkeerd

## De code, voor apps die hem niet zelf kunnen ontvangen

code-title = Je code voor { $app }
code-sentence = Kopieer deze code en voer hem in { $app } in.
code-label = Code
code-copy = Kopiëren
code-copied = Gekopieerd
code-care = Hij werkt één keer en maar een paar minuten. Laat hem aan niemand anders zien.

## Op weg terug naar de app

return-title = Terug naar { $app }
return-sentence = Je antwoord is onderweg naar { $app }. Gebeurt er niets, druk dan op de knop.
return-button = Verder naar { $app }

## Je account

nav-overview = Overzicht
nav-notifications = Meldingen
nav-devices = Apparaten
nav-security = Beveiliging
nav-skip = Naar de inhoud
notice-saved = Opgeslagen.
notice-keyword-muted = Opgeslagen. Dit woord was een van je trefwoorden. Het is nu in plaats daarvan gedempt.
notice-word-unmuted = Opgeslagen. Dit woord was gedempt. Het is nu in plaats daarvan een trefwoord.
notice-removed = Verwijderd.
notice-not-saved = Er is niets opgeslagen, omdat je niet meer was ingelogd. Probeer het opnieuw.
notice-signed-out = Je sessie in deze browser is beëindigd, bijvoorbeeld omdat je wachtwoord is gewijzigd of omdat er veel tijd is verstreken. Log opnieuw in.
notice-app-removed = Die app heeft geen toegang meer tot je account.
pager-position = Pagina { $page } van { $pages }
pager-previous = Vorige pagina
pager-next = Volgende pagina
sign-out-button = Uitloggen
email-change = E-mailadres wijzigen
email-add = E-mailadres toevoegen
apps-title = Apps met toegang
apps-none = Geen enkele app heeft toegang tot je account.
apps-removal = Een app die je verwijdert, verliert meteen de toegang. Je kunt die later opnieuw geven.
apps-since = Sinds { $time }
apps-remove = Toegang intrekken
apps-matrix = Matrix-clients
apps-matrix-note = Apps waarin je met je wachtwoord hebt ingelogd.
apps-matrix-device-note = Daar heb je met je wachtwoord ingelogd.
apps-command-line = Opdrachtregel
apps-issued-note = Uitgegeven door de beheerders van deze server.

## Notifications

notifications-pause = Alles pauzeren
notifications-on = Meldingen staan aan.
notifications-paused = Alles is gepauzeerd tot je het weer aanzet.
notifications-paused-until = Alles is gepauzeerd tot { $time }.
notifications-pause-hour = Een uur pauzeren
notifications-pause-8-hours = 8 uur pauzeren
notifications-pause-morning = Pauzeren tot 8.00 uur ’s ochtends
notifications-pause-open = Pauzeren tot ik het weer aanzet
notifications-resume = Weer aanzetten
notifications-utc = De tijden op deze pagina zijn in UTC, die kan afwijken van je tijdzone. Dat geldt ook voor 8.00 uur ’s ochtends, maar niet voor de tijden van de stille uren: die zijn in de tijdzone die je daarvoor kiest.
notifications-quiet-sentence = Tijden in de week waarop je rust wilt, zoals de nacht.
notifications-quiet-off = Stille uren staan uit.
notifications-quiet-later = Stille uren staan aan. Op dit moment is het niet stil.
notifications-quiet-until = Het is stil tot { $time }.
notifications-quiet-always = Het is altijd stil.
notifications-quiet-other-rule = Het is nu stil vanwege tijden die een app heeft ingesteld. Het formulier hieronder wijzigt ze niet.
notifications-quiet-custom = Een app heeft tijden ingesteld die deze pagina niet kan tonen. Opslaan vervangt ze.
notifications-quiet-days = Begint op
notifications-quiet-monday = Maandag
notifications-quiet-tuesday = Dinsdag
notifications-quiet-wednesday = Woensdag
notifications-quiet-thursday = Donderdag
notifications-quiet-friday = Vrijdag
notifications-quiet-saturday = Zaterdag
notifications-quiet-sunday = Zondag
notifications-quiet-from = Van
notifications-quiet-to = Tot
notifications-quiet-to-hint = Als dit niet na het begin is, is het een tijd op de volgende dag.
notifications-quiet-zone = Tijdzone
notifications-quiet-zone-hint = Bijvoorbeeld Europe/Amsterdam of UTC
notifications-quiet-level = Hoe stil?
notifications-quiet-important = Behalve vermeldingen en trefwoorden
notifications-quiet-important-hint = Je krijgt nog meldingen van vermeldingen, trefwoorden en uitnodigingen, en van personen en kamers die je hebt gekozen. Oproepen en alle andere berichten blijven stil.
notifications-quiet-total = Helemaal stil
notifications-quiet-total-hint = Je krijgt nergens meldingen van, ook niet van vermeldingen.
notifications-quiet-end = Uitzetten
notifications-devices = Apparaten
notifications-all-devices = Alle apparaten
notifications-device = Deze instellingen zijn voor apparaten met het profiel { $profile }. Ze gaan vóór die van alle apparaten.
notifications-more-profiles = Meer apparaatprofielen, die hier niet te zien zijn: { $count }.
notifications-keywords = Trefwoorden
notifications-keywords-sentence = Van een bericht met een van deze woorden krijg je een melding, tenzij er ook een gedempt woord in staat.
notifications-keywords-none = Je hebt geen trefwoorden.
notifications-muted-words = Gedempte woorden
notifications-muted-words-sentence = Een bericht met een gedempt woord blijft stil, tenzij het jou of met @room iedereen noemt of je weergavenaam bevat.
notifications-muted-words-none = Je hebt geen gedempte woorden.
notifications-mute-word = Een woord dempen
notifications-mute = Dempen
notifications-word = Woord
notifications-word-hint = Hoofdletters maken niet uit; * staat voor willekeurige tekens, ? voor één teken.
notifications-sound = Geluid
notifications-highlight = Markeren
notifications-add-keyword = Trefwoord toevoegen
notifications-save = Opslaan
notifications-remove = Verwijderen
notifications-subjects = Personen en kamers
notifications-subjects-sentence = Een gedempte persoon of kamer blijft stil, tenzij een bericht jou of met @room iedereen noemt of je weergavenaam, je gebruikersnaam of een van je trefwoorden bevat.
notifications-subjects-none = Je hebt geen instellingen voor personen of kamers.
notifications-id = Persoon of kamer
notifications-id-hint = De id van een persoon, zoals @naam:server, of van een kamer, zoals !id:server. Een link uit je app werkt ook.
notifications-choice = Meldingen
notifications-choice-hint = Als de tijd om is, wordt de vermelding verwijderd.
notifications-choice-notify = Altijd een melding
notifications-choice-mute = Dempen tot ik het wijzig
notifications-choice-mute-hour = Een uur dempen
notifications-choice-mute-8-hours = 8 uur dempen
notifications-choice-mute-day = Een dag dempen
notifications-choice-mute-week = Een week dempen
notifications-add = Toevoegen
notifications-add-subject = Persoon of kamer toevoegen
notifications-people = Personen
notifications-rooms = Kamers
notifications-off = Uit
notifications-muted = Gedempt
notifications-silent = Gedempt, ook vermeldingen
notifications-notifies = Altijd een melding
notifications-until = Tot { $time }
notifications-switches = Waarvan je meldingen krijgt
notifications-switches-sentence = Dit geldt waar geen van je eigen instellingen past.
notifications-messages = Berichten
notifications-mentions = Vermeldingen
notifications-calls = Oproepen en uitnodigingen
notifications-rare = Bots, bewerkingen, reacties en wijzigingen van kamers
notifications-rare-sentence = Van reacties en wijzigingen van kamers krijg je ook in gedempte kamers een melding.
notifications-switch-on = Aan
notifications-switch-partly = Deels aan
notifications-switch-off = Uit
notifications-switch-one-to-one = Meld me berichten in kamers met één andere persoon
notifications-switch-group = Meld me berichten in alle andere kamers
notifications-switch-bots = Meld me berichten van bots
notifications-switch-edits = Meld me als een bericht wordt bewerkt
notifications-switch-reactions = Meld me reacties
notifications-switch-mention = Meld me als iemand mij noemt
notifications-switch-display-name = Meld me als een bericht mijn weergavenaam bevat
notifications-switch-user-name = Meld me als een bericht mijn gebruikersnaam bevat
notifications-switch-room-mention = Meld me als iemand met @room iedereen in een kamer noemt
notifications-switch-call = Meld me als iemand mij belt
notifications-switch-invitation = Meld me als iemand mij in een kamer uitnodigt
notifications-switch-upgrade = Meld me als een kamer door een nieuwe wordt vervangen
notifications-switch-members = Meld me als mensen komen, gaan of hun naam wijzigen
notifications-switch-servers = Meld me als wijzigt welke servers aan een kamer mogen deelnemen
notifications-error-word-blank = Vul een woord in.
notifications-error-word-too-long = Dit woord is te lang. Vul een korter woord in.
notifications-error-id-blank = Vul de id van een persoon of een kamer in.
notifications-error-id-too-long = Dit is te lang voor een id. Controleer hem.
notifications-error-room-alias = Dit is het adres van een kamer, niet de id. De id begint met !; je app toont hem in de instellingen van de kamer.
notifications-error-person-without-server = De server ontbreekt. De id van een persoon ziet er zo uit: @naam:server
notifications-error-id-invalid = Dit is geen id. De id van een persoon ziet eruit als @naam:server, die van een kamer als !id:server.
notifications-error-text-blank = Vul een bericht in.
notifications-error-quiet-days-missing = Kies minstens één dag.
notifications-error-quiet-time-invalid = Vul twee tijden in, bijvoorbeeld 22:00 en 07:00.
notifications-error-quiet-zone-unknown = Deze server kent deze tijdzone niet. Een tijdzone ziet eruit als Europe/Amsterdam.
notifications-error-quiet-changed = De stille uren zijn intussen gewijzigd, misschien in een ander tabblad of een app. Er is niets opgeslagen. Je ziet ze hier zoals ze nu zijn.
notifications-error-too-many = Je hebt zoveel regels als deze server toestaat ({ $count }). Verwijder er eerst een paar.
notifications-error-too-large = Je regels nemen alle ruimte in die deze server toestaat. Verwijder er eerst een paar.
notifications-error-changed = { $name } is intussen gewijzigd, misschien in een ander tabblad of een app. Er is niets opgeslagen. Hier zie je hoe het nu is.
notifications-error-removed = { $name } is intussen verwijderd, misschien in een ander tabblad of een app. Er is niets opgeslagen.
notifications-error-other = Dit kon niet worden opgeslagen. Controleer wat je hebt ingevuld.

## Devices

devices-intro = Apps en browsers die je meldingen ontvangen.
devices-off = Deze server stuurt geen meldingen naar apparaten.
devices-none = Er is nog geen apparaat dat je meldingen ontvangt. Log op een apparaat in met een app en zet daar meldingen aan. Dan verschijnt het apparaat hier.
devices-mastodon = Mastodon-app, via { $host }
devices-gateway = Matrix-app, via de gateway { $host }
devices-web-push = Matrix-app, via { $host }
devices-waiting = De app moet nog bevestigen
devices-disabled = Uitgezet in de app
devices-delivered = Laatst bezorgd: { $time }
devices-failed = Laatste poging mislukt: { $time }
devices-test = Test versturen
devices-test-body = Meldingen komen op dit apparaat aan.
devices-error-unreachable = De pushdienst is niet bereikbaar.
devices-error-timeout = De pushdienst heeft niet op tijd geantwoord.
devices-error-denied = De pushdienst accepteert geen berichten van deze server.
devices-error-busy = De pushdienst is overbelast en vraagt deze server te wachten.
devices-error-rejected = De pushdienst heeft het bericht geweigerd (status { $status }).
devices-error-status = De pushdienst meldt een fout (status { $status }).
devices-error-gone = De pushdienst kent dit apparaat niet meer.
devices-error-other = Het bericht kon niet worden verstuurd.
deliveries-title = Laatste bezorgingen
deliveries-tests = Laatste tests
deliveries-test = Test
deliveries-ack = Verzoek om het apparaat te bevestigen
deliveries-counts = Aantal op het app-pictogram
deliveries-other = Melding
deliveries-former-device = Een apparaat dat niet meer in de lijst staat
deliveries-waiting = Wacht sinds { $time }
deliveries-next = Volgende poging: { $time }
deliveries-delivered = Bezorgd: { $time }
deliveries-dropped = Niet bezorgd: { $time }
deliveries-expired = Niet op tijd bezorgd: { $time }
deliveries-removed = Niet bezorgd, omdat het apparaat is verwijderd: { $time }
deliveries-read = Niet meer nodig, omdat het elders is gelezen: { $time }
deliveries-replaced = Vervangen door een nieuwere: { $time }

## Rules of apps, and titles of rules

notifications-rules = Regels van apps
notifications-rules-sentence = Apps hebben deze regels gemaakt. De instellingen hierboven kunnen ze niet tonen.
rules-about-word = Berichten met het woord { $word }
rules-about-room = Berichten in de kamer { $room }
rules-about-sender = Berichten van { $sender }
rules-about-other = Regel met eigen voorwaarden
rules-about-quiet-hours = Stille uren
rules-about-suppress-notices = Berichten van bots
rules-about-invite-for-me = Uitnodigingen voor kamers
rules-about-member-event = Mensen die komen, gaan of hun naam wijzigen
rules-about-is-user-mention = Berichten die jou noemen
rules-about-contains-display-name = Berichten met je weergavenaam
rules-about-is-room-mention = Berichten die iedereen in een kamer noemen
rules-about-roomnotif = Berichten met @room in de tekst
rules-about-tombstone = Kamers die door een nieuwe worden vervangen
rules-about-reaction = Reacties
rules-about-room-server-acl = Wijzigingen van de servers die aan een kamer mogen deelnemen
rules-about-suppress-edits = Bewerkingen van berichten
rules-about-contains-user-name = Berichten met je gebruikersnaam
rules-about-call = Oproepen
rules-about-encrypted-room-one-to-one = Versleutelde berichten in kamers met één andere persoon
rules-about-room-one-to-one = Berichten in kamers met één andere persoon
rules-about-message = Berichten in alle andere kamers
rules-about-encrypted = Versleutelde berichten in alle andere kamers
rules-notify = Geeft een melding
rules-silent = Stil
rules-delete = Verwijderen
rules-delete-effect = Een verwijderde regel kun je niet terughalen.

## Try a message

try-title = Bericht uitproberen
try-intro = Kijk wat je regels met een bericht doen. Er wordt niets verzonden of opgeslagen.
try-text = Bericht
try-sender = Van
try-sender-hint = Optioneel: een naam op deze server, of een id zoals @naam:server.
try-chat = Waar
try-group = In een groep
try-direct = In een chat met alleen jou
try-button = Uitproberen
try-notify = Je zou een melding krijgen, { $reason }.
try-sound = Je zou een melding met geluid krijgen, { $reason }.
try-silent = Je zou geen melding krijgen, { $reason }.
try-because-own = omdat het je eigen bericht is
try-because-no-rule = omdat geen enkele regel past
try-because-paused = omdat alles is gepauzeerd
try-because-quiet = omdat het nu stille uren zijn
try-because-switched-on = omdat ‘{ $name }’ aanstaat
try-because-switched-off = omdat je ‘{ $name }’ hebt uitgezet
try-because-keyword = door je trefwoord { $name }
try-because-muted-word = omdat je het woord { $name } hebt gedempt
try-because-sender = door je regel voor { $name }
try-because-muted-sender = omdat je { $name } hebt gedempt
try-because-rule = door je regel { $name }

## Security

deletion-pending = Je account wordt verwijderd: { $time }.
deletion-keep = Mijn account behouden
password-effect = Een nieuw wachtwoord logt alle andere browsers en alle apps uit. Hier blijf je ingelogd.
password-current = Huidig wachtwoord
password-new = Nieuw wachtwoord
password-again = Nieuw wachtwoord nogmaals
password-button = Wachtwoord wijzigen
password-wrong = Dit is niet je wachtwoord.
password-hint = Minstens { $count } tekens, en geen veelgebruikt wachtwoord
password-different = De twee wachtwoorden zijn niet gelijk.
email-verified = Je kunt met dit adres inloggen. Na een wijziging log je alleen nog met je gebruikersnaam in.
sessions-title = Waar je bent ingelogd
sessions-this = Deze browser
sessions-browser = { $browser } op { $system }
sessions-unknown = Onbekende browser
sessions-since = Ingelogd op { $time }
sessions-more = Meer browsers
sessions-others = Overal elders uitloggen
used-recently = In het afgelopen uur gebruikt
used-hours =
    Laatst gebruikt: { $count ->
        [one] een uur
       *[other] { $count } uur
    } geleden
used-days =
    Laatst gebruikt: { $count ->
        [one] een dag
       *[other] { $count } dagen
    } geleden
used-never = Nog niet gebruikt
tokens-count =
    { $count ->
        [one] Eén keer
       *[other] { $count } keer
    } ingelogd
only-last-used =
    { $count ->
        [one] Alleen de laatst gebruikte staat hier.
       *[other] Alleen de { $count } laatst gebruikte staan hier.
    }
data-title = Je gegevens
data-content = Een bestand met je account, apps, sessies, apparaten en meldingsregels, en een overzicht van wat er met je account is gebeurd. Er staan geen wachtwoorden in.
data-button = Mijn gegevens downloaden
delete-title = Je account verwijderen
delete-effect = Je account wordt na een dag verwijderd, met de apps en meldingsregels. Tot die tijd kun je je bedenken. Niemand anders kan zich met jouw naam registreren.
delete-button = Mijn account verwijderen
delete-last-admin = Jij bent de enige beheerder van deze server. Maak eerst iemand anders beheerder.
notice-token-revoked = De app is daar uitgelogd.
notice-password-changed = Je wachtwoord is gewijzigd. Alle andere browsers en alle apps zijn uitgelogd.
notice-email-changed = Je e-mailadres is bijgewerkt.
notice-session-ended = De andere browser is uitgelogd.
notice-sessions-ended = Alle andere browsers zijn uitgelogd.
notice-deletion-cancelled = Je account blijft bestaan.
notice-test-sent = De test is onderweg. In de lijst hieronder zie je of hij is aangekomen; laad de pagina opnieuw om die bij te werken.
notice-test-not-sent = Er is geen test verstuurd: het apparaat krijgt nu geen berichten, of er wachten er te veel op.

## Sign up

sign-up-name = Gebruikersnaam
sign-up-name-hint = Kleine letters van a tot z, cijfers en liggende streepjes, in het midden ook punten en koppeltekens. Je kunt de naam later niet wijzigen.
sign-up-email = E-mailadres
sign-up-email-hint = Niet verplicht. De beheerders van deze server kunnen je daar bereiken. Je logt in met je gebruikersnaam.
sign-up-again = Wachtwoord nogmaals
sign-up-agreement = Ik houd me aan de regels van deze server.
sign-up-rules = De regels lezen
sign-up-button = Mijn account aanmaken
field-username-blank = Kies een gebruikersnaam.
field-username-name-invalid = Gebruik alleen kleine letters van a tot z, cijfers en liggende streepjes. In het midden mogen ook punten en koppeltekens staan.
field-username-too-long = Kies een gebruikersnaam van hoogstens { $count } tekens.
field-username-reserved = Deze gebruikersnaam is gereserveerd. Kies een andere.
field-username-taken = Deze gebruikersnaam is al bezet. Kies een andere.
field-email-email-invalid = Controleer het adres. Het moet eruitzien als naam@example.org.
field-email-too-long = Vul een adres van hoogstens { $count } tekens in.
field-password-blank = Kies een wachtwoord.
field-password-too-short = Kies een wachtwoord van minstens { $count } tekens.
field-password-too-long = Kies een wachtwoord van hoogstens { $count } tekens.
field-password-password-common = Dit wachtwoord is makkelijk te raden. Kies een ander.
field-agreement-not-accepted = Ga akkoord met de regels van deze server.
sign-up-sign-in = Ik heb al een account
registration-closed-title = Geen nieuwe accounts
registration-closed-sentence = Deze server neemt geen nieuwe accounts aan.
registration-closed-advice = Vraag het aan de beheerders.

## Front page

front-title = Welkom
front-sentence = Hier bepaal je welke apps je account mogen gebruiken en van welke berichten je een melding krijgt.
front-signed-in = Je bent ingelogd als { $account }.
front-account = Naar je account
front-developers = Voor ontwikkelaars
front-developers-sentence = Apps maken verbinding met deze server via OAuth 2.0 en via de API’s van Mastodon en Matrix.
front-api = Beschrijving van de API (OpenAPI)
front-documentation = Documentatie

## Uitgelogd

signed-out-title = Je bent uitgelogd
signed-out-sentence = Je kunt deze pagina sluiten.
signed-out-button = Opnieuw inloggen

## Wat er mis kan gaan

invalid-request-title = Dit verzoek kan niet worden beantwoord
invalid-request-advice = Ga terug naar de app en probeer het opnieuw. Gebeurt het weer, laat het dan weten aan de makers van de app.
malformed-sentence = Deze server kon niet lezen wat er werd verstuurd.
app-error-unknown = Deze server kent de app waar je vandaan komt niet, of staat die niet meer toe.
app-error-redirect-uri = De app wil je naar een adres sturen dat hier niet is geregistreerd.
app-error-scope = De app vraagt om rechten die hij hier niet kan krijgen.
app-error-request = Het verzoek van de app is onvolledig of onjuist.
app-error-details = Voor de makers van de app:
denied-title = Toegang geweigerd
denied-sentence = De app heeft geen toegang gekregen. Er is niets van je gedeeld.
denied-advice = Je kunt deze pagina sluiten.
expired-title = Dit verzoek staat niet meer open
expired-sentence = Het is al beantwoord, of er is te veel tijd verstreken.
expired-advice = Ga terug naar de app en begin opnieuw.
forged-form-title = Dit formulier kon niet worden gecontroleerd
forged-form-sentence = Misschien ben je in een ander tabblad in- of uitgelogd, of heeft je browser de cookie van deze server niet meegestuurd.
forged-form-advice = Sta cookies voor deze server toe, ga terug en probeer het opnieuw.
rate-limited-title = Te veel verzoeken
rate-limited-sentence = Deze server heeft in korte tijd te veel verzoeken van je gekregen.
rate-limited-advice =
    Probeer het over { $minutes ->
        [one] één minuut
       *[other] { $minutes } minuten
    } opnieuw.
internal-title = Hier ging iets mis
internal-sentence = De fout ligt bij deze server, niet bij jou. Hij is vastgelegd.
internal-advice = Probeer het zo dadelijk opnieuw.
busy-title = Deze server heeft het druk
busy-sentence = Hij kan nu even niet antwoorden. Je verzoek was niet verkeerd.
busy-advice = Probeer het zo dadelijk opnieuw.
not-found-title = Pagina niet gevonden
not-found-sentence = Op dit adres is niets te vinden.
not-found-advice = Controleer het adres of ga terug naar de app waar je vandaan komt.

## Fouten van een registratie

validation-failed = Controle mislukt: { $errors }
validation-list = { $errors }, { $error }

app-name-blank = Naam van de app mag niet leeg zijn
app-name-invalid = Naam van de app is ongeldig
app-name-too-long = Naam van de app is te lang (maximaal { $count } tekens)
app-redirect-uri-blank = Omleidings-URI mag niet leeg zijn
app-redirect-uri-forbidden = Omleidings-URI is op deze server niet toegestaan.
app-redirect-uri-invalid = Omleidings-URI moet een geldige URI zijn.
app-redirect-uri-relative = Omleidings-URI moet een absolute URI zijn.
app-redirect-uri-opaque = Omleidings-URI moet een schema bevatten.
app-redirect-uri-fragment = Omleidings-URI mag geen fragment bevatten.
app-redirect-uri-user-info = Omleidings-URI mag geen gebruikersnaam of wachtwoord bevatten.
app-redirect-uri-wildcard = Omleidings-URI mag geen jokerteken bevatten.
app-redirect-uri-insecure = Omleidings-URI moet een HTTPS-URI zijn (http is alleen toegestaan voor localhost).
app-redirect-uri-too-long = Omleidings-URI is te lang (maximaal { $count } tekens)
app-scopes = Toestemmingen komen niet overeen met die van de server.
app-unknown-scope = Toestemmingen komen niet overeen met die van de server: { $scope } is onbekend (scopes_supported, /.well-known/oauth-authorization-server).
app-website-invalid = Website van de app is geen geldige URL
app-website-too-long = Website van de app is te lang (maximaal { $count } tekens)
app-auth-method = Authenticatiemethode van de app (token_endpoint_auth_method) moet client_secret_basic of client_secret_post zijn (openbare apps zonder geheim worden niet ondersteund: registreer elke installatie van de app om een eigen geheim te krijgen)

account-error = { $field } { $error }
account-field-username = Gebruikersnaam
account-field-email = E-mailadres
account-field-password = Wachtwoord
account-field-agreement = Gebruiksovereenkomst
account-blank = mag niet leeg zijn
account-name-invalid = mag alleen kleine letters, cijfers en onderstrepingstekens bevatten, en punten of koppeltekens alleen binnenin
account-email-invalid = is geen geldig e-mailadres
account-too-long = is te lang (maximaal { $count } tekens)
account-too-short = is te kort (minimaal { $count } tekens)
account-password-common = is te makkelijk te raden; kies een ander
account-reserved = is gereserveerd
account-taken = is al in gebruik
account-not-accepted = moet worden geaccepteerd
