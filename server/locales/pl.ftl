# Polski. Forma: ty, bez form zależnych od płci.

## Logowanie

sign-in-title = Zaloguj się
sign-in-app = { $app } prosi o dostęp do Twojego konta.
sign-in-name = Nazwa lub adres e-mail
sign-in-password = Hasło
sign-in-show-password = Pokaż hasło
sign-in-button = Zaloguj się
sign-in-wrong = Nazwa lub hasło są nieprawidłowe. Sprawdź jedno i drugie.
sign-in-wrong-address = Jeśli konto zostało utworzone tutaj, użyj nazwy użytkownika zamiast adresu e-mail.
sign-in-disabled = To konto jest wyłączone. Skontaktuj się z osobami prowadzącymi ten serwer.
sign-in-too-many =
    Zbyt wiele prób. Spróbuj ponownie za { $minutes ->
        [one] minutę
        [few] { $minutes } minuty
        [many] { $minutes } minut
       *[other] { $minutes } minuty
    }.
sign-in-forgot = Nie pamiętasz hasła?
sign-in-forgot-ask = Osoby prowadzące ten serwer mogą nadać Ci nowe.
sign-in-sign-up = Utwórz konto
languages = Język

## Zgoda

consent-title = Zezwolić aplikacji { $app } na korzystanie z Twojego konta?
consent-operator-app = Tę aplikację dodały osoby prowadzące ten serwer.
consent-local-app = Każda aplikacja może używać tej nazwy. Zezwól tylko wtedy, gdy przed chwilą samodzielnie otworzono ją na tym urządzeniu.
consent-account = Twoje konto
consent-switch = Użyj innego konta
consent-allows = Aplikacja { $app } będzie mogła:
consent-admin-allows = Z Twoimi uprawnieniami administracyjnymi na tym serwerze:
consent-then-host = Potem wrócisz do { $host }.
consent-then-device = Potem wrócisz do aplikacji na tym urządzeniu.
consent-then-code = Potem zobaczysz kod, który należy wpisać w aplikacji { $app }.
consent-allow = Przyznaj dostęp aplikacji { $app }
consent-deny = Odmów

consent-all-read = Widzieć wszystko na Twoim koncie
consent-all-write = Zmieniać wszystko na Twoim koncie i działać w Twoim imieniu
consent-all-both = Widzieć i zmieniać wszystko na Twoim koncie oraz działać w Twoim imieniu
consent-matrix-both = Korzystanie z całego konta czatu: czytanie i wysyłanie wiadomości oraz zmienianie pokoi, urządzeń i ustawień
consent-accounts-read = Widzieć dane Twojego konta
consent-accounts-write = Zmieniać Twój profil
consent-accounts-both = Widzieć dane Twojego konta i zmieniać Twój profil
consent-blocks-read = Widzieć, kogo blokujesz
consent-blocks-write = Blokować i odblokowywać osoby
consent-blocks-both = Widzieć i zmieniać, kogo blokujesz
consent-bookmarks-read = Widzieć Twoje zakładki
consent-bookmarks-write = Dodawać i usuwać zakładki
consent-bookmarks-both = Widzieć i zmieniać Twoje zakładki
consent-conversations-write = Wyciszać i usuwać rozmowy
consent-favourites-read = Widzieć Twoje ulubione
consent-favourites-write = Dodawać i usuwać ulubione
consent-favourites-both = Widzieć i zmieniać Twoje ulubione
consent-filters-read = Widzieć Twoje filtry
consent-filters-write = Zmieniać Twoje filtry
consent-filters-both = Widzieć i zmieniać Twoje filtry
consent-follow-both = Widzieć i zmieniać, kogo obserwujesz, blokujesz i wyciszasz
consent-follows-read = Widzieć, kogo obserwujesz
consent-follows-write = Zaczynać i przestawać obserwować osoby
consent-follows-both = Widzieć i zmieniać, kogo obserwujesz
consent-lists-read = Widzieć Twoje listy
consent-lists-write = Zmieniać Twoje listy
consent-lists-both = Widzieć i zmieniać Twoje listy
consent-media-write = Przesyłać obrazy, dźwięki i filmy
consent-mutes-read = Widzieć, kogo wyciszasz
consent-mutes-write = Wyciszać osoby i rozmowy oraz cofać wyciszenie
consent-mutes-both = Widzieć i zmieniać, kogo wyciszasz
consent-notifications-read = Widzieć Twoje powiadomienia i ich reguły
consent-notifications-write = Usuwać Twoje powiadomienia i zmieniać ich reguły
consent-notifications-both = Widzieć i usuwać Twoje powiadomienia oraz zmieniać ich reguły
consent-profile-read = Widzieć Twoją nazwę i profil
consent-push-both = Wysyłać Ci powiadomienia push, widzieć zawarte w nich wiadomości oraz widzieć i zmieniać reguły powiadomień
consent-reports-write = Zgłaszać osoby i wpisy w Twoim imieniu
consent-search-read = Wyszukiwać w Twoim imieniu
consent-statuses-read = Widzieć wpisy, także prywatne, które możesz zobaczyć
consent-statuses-write = Publikować, edytować i usuwać wpisy w Twoim imieniu
consent-statuses-both = Widzieć wpisy, także prywatne, oraz publikować, edytować i usuwać je w Twoim imieniu

consent-admin-all-read = Widzieć wszystko, co widzi tylko administracja
consent-admin-all-write = Zmieniać wszystko, co zmienia tylko administracja
consent-admin-all-both = Widzieć i zmieniać wszystko na tym serwerze
consent-admin-accounts-read = Widzieć wszystkie konta i ich prywatne dane
consent-admin-accounts-write = Moderować konta
consent-admin-accounts-both = Widzieć wszystkie konta i ich prywatne dane oraz je moderować
consent-admin-reports-read = Widzieć zgłoszenia
consent-admin-reports-write = Rozpatrywać zgłoszenia
consent-admin-reports-both = Widzieć i rozpatrywać zgłoszenia
consent-admin-domain_allows-read = Widzieć, które serwery są dozwolone
consent-admin-domain_allows-write = Zmieniać, które serwery są dozwolone
consent-admin-domain_allows-both = Widzieć i zmieniać, które serwery są dozwolone
consent-admin-domain_blocks-read = Widzieć, które serwery są zablokowane
consent-admin-domain_blocks-write = Zmieniać, które serwery są zablokowane
consent-admin-domain_blocks-both = Widzieć i zmieniać, które serwery są zablokowane
consent-admin-ip_blocks-read = Widzieć, które adresy IP są zablokowane
consent-admin-ip_blocks-write = Zmieniać, które adresy IP są zablokowane
consent-admin-ip_blocks-both = Widzieć i zmieniać, które adresy IP są zablokowane
consent-admin-email_domain_blocks-read = Widzieć, którzy dostawcy poczty są zablokowani
consent-admin-email_domain_blocks-write = Zmieniać, którzy dostawcy poczty są zablokowani
consent-admin-email_domain_blocks-both = Widzieć i zmieniać, którzy dostawcy poczty są zablokowani
consent-admin-canonical_email_blocks-read = Widzieć, które adresy e-mail są zablokowane
consent-admin-canonical_email_blocks-write = Zmieniać, które adresy e-mail są zablokowane
consent-admin-canonical_email_blocks-both = Widzieć i zmieniać, które adresy e-mail są zablokowane

## Kod, dla aplikacji, które nie mogą odebrać go same

code-title = Twój kod dla aplikacji { $app }
code-sentence = Skopiuj ten kod i wpisz go w aplikacji { $app }.
code-label = Kod
code-copy = Kopiuj
code-copied = Skopiowano
code-care = Działa tylko raz i tylko przez kilka minut. Nie pokazuj go nikomu innemu.

## W drodze powrotnej do aplikacji

return-title = Powrót do aplikacji { $app }
return-sentence = Twoja odpowiedź jest w drodze do { $app }. Jeśli nic się nie dzieje, naciśnij przycisk.
return-button = Przejdź do aplikacji { $app }

## Twoje konto

nav-overview = Przegląd
nav-notifications = Powiadomienia
nav-devices = Urządzenia
nav-security = Bezpieczeństwo
nav-skip = Przejdź do treści
notice-saved = Zapisano.
notice-keyword-muted = Zapisano. To słowo było jednym z twoich słów kluczowych. Teraz jest wyciszone i nie jest już słowem kluczowym.
notice-word-unmuted = Zapisano. To słowo było wyciszone. Teraz jest słowem kluczowym i nie jest już wyciszone.
notice-removed = Usunięto.
notice-not-saved = Nic nie zapisano, ponieważ sesja już wygasła. Spróbuj ponownie.
notice-signed-out = Twoja sesja w tej przeglądarce się zakończyła, na przykład dlatego, że zmieniono hasło albo minęło dużo czasu. Zaloguj się ponownie.
notice-app-removed = Ta aplikacja nie ma już dostępu do Twojego konta.
pager-position = Strona { $page } z { $pages }
pager-previous = Poprzednia strona
pager-next = Następna strona
sign-out-button = Wyloguj się
email-change = Zmień adres e-mail
email-add = Dodaj adres e-mail
apps-title = Aplikacje z dostępem
apps-none = Żadna aplikacja nie ma dostępu do Twojego konta.
apps-removal = Usunięta aplikacja natychmiast traci dostęp. Możesz go później przyznać ponownie.
apps-since = Od { $time }
apps-remove = Odbierz dostęp
apps-matrix = Klienty Matrix
apps-matrix-note = Aplikacje, w których użyto Twojego hasła do zalogowania.
apps-matrix-device-note = Tam nastąpiło logowanie hasłem.
apps-command-line = Wiersz poleceń
apps-issued-note = Dostęp wydany przez osoby prowadzące ten serwer.

## Notifications

notifications-pause = Wstrzymaj wszystko
notifications-on = Powiadomienia są włączone.
notifications-paused = Wszystko jest wstrzymane, dopóki nie włączysz powiadomień.
notifications-paused-until = Wszystko jest wstrzymane do: { $time }.
notifications-pause-hour = Wstrzymaj na godzinę
notifications-pause-8-hours = Wstrzymaj na 8 godzin
notifications-pause-morning = Wstrzymaj do 8:00 rano
notifications-pause-open = Wstrzymaj, dopóki nie włączę
notifications-resume = Włącz ponownie
notifications-utc = Godziny na tej stronie są podane w UTC, która może się różnić od Twojej strefy czasowej. Dotyczy to także 8:00 rano, ale nie godzin ciszy, które są w wybranej dla nich strefie czasowej.
notifications-quiet-sentence = Pory tygodnia, w których chcesz mieć ciszę, na przykład noc.
notifications-quiet-off = Godziny ciszy są wyłączone.
notifications-quiet-later = Godziny ciszy są włączone. W tej chwili nie ma ciszy.
notifications-quiet-until = Cisza trwa do: { $time }.
notifications-quiet-always = Cisza trwa zawsze.
notifications-quiet-other-rule = Teraz jest cisza z powodu pór ustawionych przez aplikację. Poniższy formularz ich nie zmienia.
notifications-quiet-custom = Aplikacja ustawiła pory, których ta strona nie może pokazać. Zapisanie je zastąpi.
notifications-quiet-days = Początek
notifications-quiet-monday = Poniedziałek
notifications-quiet-tuesday = Wtorek
notifications-quiet-wednesday = Środa
notifications-quiet-thursday = Czwartek
notifications-quiet-friday = Piątek
notifications-quiet-saturday = Sobota
notifications-quiet-sunday = Niedziela
notifications-quiet-from = Od
notifications-quiet-to = Do
notifications-quiet-to-hint = Jeśli nie jest później niż początek, to godzina następnego dnia.
notifications-quiet-zone = Strefa czasowa
notifications-quiet-zone-hint = Na przykład Europe/Warsaw lub UTC
notifications-quiet-level = Jak cicho?
notifications-quiet-important = Oprócz wzmianek i słów kluczowych
notifications-quiet-important-hint = Nadal otrzymujesz powiadomienia o wzmiankach, słowach kluczowych i zaproszeniach oraz od wybranych osób i z wybranych pokojów. Połączenia i wszystkie inne wiadomości są ciche.
notifications-quiet-total = Całkowita cisza
notifications-quiet-total-hint = Nie otrzymujesz żadnych powiadomień, nawet o wzmiankach.
notifications-quiet-end = Wyłącz
notifications-devices = Urządzenia
notifications-all-devices = Wszystkie urządzenia
notifications-device = Te ustawienia dotyczą urządzeń z profilem { $profile }. Mają pierwszeństwo przed ustawieniami wszystkich urządzeń.
notifications-more-profiles = Pozostałe profile urządzeń, których tu nie pokazano: { $count }.
notifications-keywords = Słowa kluczowe
notifications-keywords-sentence = Wiadomość z jednym z tych słów wywołuje powiadomienie, chyba że zawiera też wyciszone słowo.
notifications-keywords-none = Nie masz słów kluczowych.
notifications-muted-words = Wyciszone słowa
notifications-muted-words-sentence = Wiadomość z wyciszonym słowem nie wywołuje powiadomienia, chyba że wspomina o Tobie lub o wszystkich przez @room albo zawiera Twoją nazwę wyświetlaną.
notifications-muted-words-none = Nie masz wyciszonych słów.
notifications-mute-word = Wycisz słowo
notifications-mute = Wycisz
notifications-word = Słowo
notifications-word-hint = Wielkość liter nie ma znaczenia; * zastępuje dowolne znaki, ? jeden znak.
notifications-sound = Dźwięk
notifications-highlight = Wyróżnienie
notifications-add-keyword = Dodaj słowo kluczowe
notifications-save = Zapisz
notifications-remove = Usuń
notifications-subjects = Osoby i pokoje
notifications-subjects-sentence = Wyciszona osoba lub pokój milczy, chyba że wiadomość wspomina o Tobie lub o wszystkich przez @room albo zawiera Twoją nazwę wyświetlaną, Twoją nazwę użytkownika lub jedno z Twoich słów kluczowych.
notifications-subjects-none = Nie masz ustawień dla osób ani pokojów.
notifications-id = Osoba lub pokój
notifications-id-hint = Identyfikator osoby, np. @nazwa:serwer, lub pokoju, np. !id:serwer. Może to być także link z Twojej aplikacji.
notifications-choice = Powiadomienia
notifications-choice-hint = Po upływie tego czasu wpis zostanie usunięty.
notifications-choice-notify = Zawsze powiadamiaj
notifications-choice-mute = Wycisz, dopóki tego nie zmienię
notifications-choice-mute-hour = Wycisz na godzinę
notifications-choice-mute-8-hours = Wycisz na 8 godzin
notifications-choice-mute-day = Wycisz na dobę
notifications-choice-mute-week = Wycisz na tydzień
notifications-add = Dodaj
notifications-add-subject = Dodaj osobę lub pokój
notifications-people = Osoby
notifications-rooms = Pokoje
notifications-off = Wyłączone
notifications-muted = Wyciszone
notifications-silent = Wyciszone, także wzmianki
notifications-notifies = Zawsze powiadamia
notifications-until = Do: { $time }
notifications-switches = O czym dostajesz powiadomienia
notifications-switches-sentence = Obowiązuje tam, gdzie nie pasuje żadne z Twoich ustawień.
notifications-messages = Wiadomości
notifications-mentions = Wzmianki
notifications-calls = Połączenia i zaproszenia
notifications-rare = Boty, edycje, reakcje i zmiany w pokojach
notifications-rare-sentence = Powiadomienia o reakcjach i zmianach w pokojach przychodzą także z wyciszonych pokojów.
notifications-switch-on = Tak
notifications-switch-partly = Częściowo
notifications-switch-off = Nie
notifications-switch-one-to-one = Powiadamiaj mnie o wiadomościach w pokojach z jedną inną osobą
notifications-switch-group = Powiadamiaj mnie o wiadomościach we wszystkich innych pokojach
notifications-switch-bots = Powiadamiaj mnie o wiadomościach od botów
notifications-switch-edits = Powiadamiaj mnie o edycji wiadomości
notifications-switch-reactions = Powiadamiaj mnie o reakcjach
notifications-switch-mention = Powiadamiaj mnie, gdy ktoś o mnie wspomni
notifications-switch-display-name = Powiadamiaj mnie, gdy wiadomość zawiera moją nazwę wyświetlaną
notifications-switch-user-name = Powiadamiaj mnie, gdy wiadomość zawiera moją nazwę użytkownika
notifications-switch-room-mention = Powiadamiaj mnie, gdy ktoś wspomni cały pokój przez @room
notifications-switch-call = Powiadamiaj mnie, gdy ktoś do mnie dzwoni
notifications-switch-invitation = Powiadamiaj mnie, gdy ktoś zaprasza mnie do pokoju
notifications-switch-upgrade = Powiadamiaj mnie, gdy pokój zostaje zastąpiony nowym
notifications-switch-members = Powiadamiaj mnie, gdy ktoś dołącza, odchodzi lub zmienia nazwę
notifications-switch-servers = Powiadamiaj mnie o zmianach serwerów dopuszczonych do pokoju
notifications-error-word-blank = Wpisz słowo.
notifications-error-word-too-long = To słowo jest za długie. Wpisz krótsze.
notifications-error-id-blank = Wpisz identyfikator osoby lub pokoju.
notifications-error-id-too-long = To za długie na identyfikator. Sprawdź go.
notifications-error-room-alias = To adres pokoju, a nie jego identyfikator. Identyfikator zaczyna się od !; Twoja aplikacja pokazuje go w ustawieniach pokoju.
notifications-error-person-without-server = Brakuje serwera. Identyfikator osoby wygląda tak: @nazwa:serwer
notifications-error-id-invalid = To nie jest identyfikator. Identyfikator osoby wygląda jak @nazwa:serwer, a pokoju jak !id:serwer.
notifications-error-text-blank = Wpisz wiadomość.
notifications-error-quiet-days-missing = Wybierz co najmniej jeden dzień.
notifications-error-quiet-time-invalid = Wpisz dwie godziny, na przykład 22:00 i 07:00.
notifications-error-quiet-zone-unknown = Ten serwer nie zna tej strefy czasowej. Strefa czasowa wygląda jak Europe/Warsaw.
notifications-error-quiet-changed = Godziny ciszy zostały w międzyczasie zmienione, być może w innej karcie lub aplikacji. Nic nie zostało zapisane. Tutaj widzisz je w obecnym stanie.
notifications-error-too-many = Masz tyle reguł, na ile pozwala ten serwer ({ $count }). Najpierw usuń kilka z nich.
notifications-error-too-large = Twoje reguły zajmują całe miejsce, na które pozwala ten serwer. Najpierw usuń kilka z nich.
notifications-error-changed = W międzyczasie zmieniono: { $name }, być może w innej karcie lub aplikacji. Nic nie zapisano. Poniżej widać obecny stan.
notifications-error-removed = W międzyczasie usunięto: { $name }, być może w innej karcie lub aplikacji. Nic nie zapisano.
notifications-error-other = Nie udało się zapisać. Sprawdź, co wpisano.

## Devices

devices-intro = Aplikacje i przeglądarki, które otrzymują Twoje powiadomienia.
devices-off = Ten serwer nie wysyła powiadomień na urządzenia.
devices-none = Żadne urządzenie nie otrzymuje jeszcze Twoich powiadomień. Zaloguj się w aplikacji na urządzeniu i włącz tam powiadomienia. Wtedy urządzenie pojawi się tutaj.
devices-mastodon = Aplikacja Mastodon, przez { $host }
devices-gateway = Aplikacja Matrix, przez bramkę { $host }
devices-web-push = Aplikacja Matrix, przez { $host }
devices-waiting = Czeka na potwierdzenie przez aplikację
devices-disabled = Wyłączone w aplikacji
devices-delivered = Ostatnio dostarczono: { $time }
devices-failed = Ostatnia próba nieudana: { $time }
devices-test = Wyślij test
devices-test-body = Powiadomienia docierają na to urządzenie.
devices-error-unreachable = Nie można połączyć się z usługą powiadomień.
devices-error-timeout = Usługa powiadomień nie odpowiedziała na czas.
devices-error-denied = Usługa powiadomień nie przyjmuje wiadomości z tego serwera.
devices-error-busy = Usługa powiadomień jest przeciążona i prosi ten serwer, aby poczekał.
devices-error-rejected = Usługa powiadomień odrzuciła wiadomość (status { $status }).
devices-error-status = Usługa powiadomień zgłasza błąd (status { $status }).
devices-error-gone = Usługa powiadomień nie zna już tego urządzenia.
devices-error-other = Nie udało się wysłać wiadomości.
deliveries-title = Ostatnie dostawy
deliveries-tests = Ostatnie testy
deliveries-test = Test
deliveries-ack = Prośba o potwierdzenie urządzenia
deliveries-counts = Liczba na ikonie aplikacji
deliveries-other = Powiadomienie
deliveries-former-device = Urządzenie, którego nie ma już na liście
deliveries-waiting = Czeka od: { $time }
deliveries-next = Następna próba: { $time }
deliveries-delivered = Dostarczono: { $time }
deliveries-dropped = Nie dostarczono: { $time }
deliveries-expired = Nie dostarczono na czas: { $time }
deliveries-removed = Nie dostarczono, ponieważ urządzenie usunięto: { $time }
deliveries-read = Już niepotrzebne, ponieważ przeczytano je gdzie indziej: { $time }
deliveries-replaced = Zastąpiono nowszym: { $time }

## Rules of apps, and titles of rules

notifications-rules = Reguły aplikacji
notifications-rules-sentence = Te reguły utworzyły aplikacje. Ustawienia powyżej nie mogą ich pokazać.
rules-about-word = Wiadomości ze słowem { $word }
rules-about-room = Wiadomości w pokoju { $room }
rules-about-sender = Wiadomości od { $sender }
rules-about-other = Reguła z własnymi warunkami
rules-about-quiet-hours = Godziny ciszy
rules-about-suppress-notices = Wiadomości od botów
rules-about-invite-for-me = Zaproszenia do pokojów
rules-about-member-event = Osoby, które dołączają, odchodzą lub zmieniają nazwę
rules-about-is-user-mention = Wiadomości, które wspominają o Tobie
rules-about-contains-display-name = Wiadomości z Twoją nazwą wyświetlaną
rules-about-is-room-mention = Wiadomości, które wspominają cały pokój
rules-about-roomnotif = Wiadomości z @room w treści
rules-about-tombstone = Pokoje zastąpione nowymi
rules-about-reaction = Reakcje
rules-about-room-server-acl = Zmiany serwerów dopuszczonych do pokoju
rules-about-suppress-edits = Edycje wiadomości
rules-about-contains-user-name = Wiadomości z Twoją nazwą użytkownika
rules-about-call = Połączenia
rules-about-encrypted-room-one-to-one = Zaszyfrowane wiadomości w pokojach z jedną inną osobą
rules-about-room-one-to-one = Wiadomości w pokojach z jedną inną osobą
rules-about-message = Wiadomości we wszystkich innych pokojach
rules-about-encrypted = Zaszyfrowane wiadomości we wszystkich innych pokojach
rules-notify = Powiadamia
rules-silent = Cisza
rules-delete = Usuń
rules-delete-effect = Usuniętej reguły nie można odzyskać.

## Try a message

try-title = Wypróbuj wiadomość
try-intro = Zobacz, co Twoje reguły zrobią z wiadomością. Nic nie jest wysyłane ani zapisywane.
try-text = Wiadomość
try-sender = Od
try-sender-hint = Nieobowiązkowe: nazwa na tym serwerze albo identyfikator, np. @nazwa:serwer.
try-chat = Gdzie
try-group = W grupie
try-direct = W rozmowie tylko z Tobą
try-button = Wypróbuj
try-notify = Dostaniesz powiadomienie, { $reason }.
try-sound = Dostaniesz powiadomienie z dźwiękiem, { $reason }.
try-silent = Nie dostaniesz powiadomienia, { $reason }.
try-because-own = ponieważ to Twoja własna wiadomość
try-because-no-rule = ponieważ żadna reguła nie pasuje
try-because-paused = ponieważ wszystko jest wstrzymane
try-because-quiet = ponieważ trwają godziny ciszy
try-because-switched-on = ponieważ „{ $name }” jest włączone
try-because-switched-off = ponieważ „{ $name }” jest wyłączone
try-because-keyword = z powodu Twojego słowa kluczowego { $name }
try-because-muted-word = ponieważ słowo { $name } jest wyciszone
try-because-sender = z powodu Twojej reguły dla { $name }
try-because-muted-sender = ponieważ { $name } jest na liście wyciszonych
try-because-rule = z powodu Twojej reguły { $name }

## Security

deletion-pending = Twoje konto zostanie usunięte: { $time }.
deletion-keep = Zachowaj moje konto
password-effect = Nowe hasło wylogowuje wszystkie inne przeglądarki i wszystkie aplikacje. Tutaj pozostaniesz na swoim koncie.
password-current = Obecne hasło
password-new = Nowe hasło
password-again = Powtórz nowe hasło
password-button = Zmień hasło
password-wrong = To nie jest Twoje hasło.
password-hint = Co najmniej tyle znaków: { $count }. Nie może to być popularne hasło.
password-different = Hasła nie są jednakowe.
email-verified = Tym adresem możesz się logować. Po zmianie do logowania służy tylko nazwa użytkownika.
sessions-title = Gdzie trwa Twoja sesja
sessions-this = Ta przeglądarka
sessions-browser = { $browser } w systemie { $system }
sessions-unknown = Nieznana przeglądarka
sessions-since = Zalogowano { $time }
sessions-more = Więcej przeglądarek
sessions-others = Wyloguj wszędzie indziej
used-recently = Używane w ciągu ostatniej godziny
used-hours =
    Ostatnie użycie: { $count ->
        [one] godzinę
        [few] { $count } godziny
        [many] { $count } godzin
       *[other] { $count } godziny
    } temu
used-days =
    Ostatnie użycie: { $count ->
        [one] dzień
        [few] { $count } dni
        [many] { $count } dni
       *[other] { $count } dnia
    } temu
used-never = Jeszcze nieużywane
tokens-count =
    Zalogowano { $count ->
        [one] raz
        [few] { $count } razy
        [many] { $count } razy
       *[other] { $count } razy
    }
only-last-used =
    { $count ->
        [one] Widać tu tylko ostatnio używane.
        [few] Widać tu tylko { $count } ostatnio używane.
        [many] Widać tu tylko { $count } ostatnio używanych.
       *[other] Widać tu tylko { $count } ostatnio używane.
    }
data-title = Twoje dane
data-content = Plik z Twoim kontem, aplikacjami, sesjami, urządzeniami i regułami powiadomień oraz zapisem zdarzeń na koncie. Nie zawiera haseł.
data-button = Pobierz moje dane
delete-title = Usuń konto
delete-effect = Konto zostanie usunięte po jednym dniu, razem z aplikacjami i regułami powiadomień. Do tego czasu możesz zmienić zdanie. Nikt inny nie może zarejestrować się pod Twoją nazwą.
delete-button = Usuń moje konto
delete-last-admin = Tylko Ty administrujesz tym serwerem. Najpierw przekaż tę rolę komuś innemu.
notice-token-revoked = Aplikacja została tam wylogowana.
notice-password-changed = Hasło zostało zmienione. Wszystkie inne przeglądarki i wszystkie aplikacje są wylogowane.
notice-email-changed = Adres e-mail jest zaktualizowany.
notice-session-ended = Tamta przeglądarka została wylogowana.
notice-sessions-ended = Wszystkie inne przeglądarki zostały wylogowane.
notice-deletion-cancelled = Twoje konto pozostaje.
notice-test-sent = Test jest w drodze. Lista poniżej pokazuje, czy dotarł; odśwież stronę, aby ją zaktualizować.
notice-test-not-sent = Nie wysłano testu: urządzenie nie otrzymuje teraz wiadomości albo zbyt wiele na nie czeka.

## Sign up

sign-up-name = Nazwa użytkownika
sign-up-name-hint = Małe litery od a do z, cyfry i podkreślenia, w środku także kropki i łączniki. Później nie można jej zmienić.
sign-up-email = Adres e-mail
sign-up-email-hint = Nieobowiązkowo. Osoby prowadzące ten serwer mogą się tak z Tobą skontaktować. Do logowania służy nazwa użytkownika.
sign-up-again = Powtórz hasło
sign-up-agreement = Będę przestrzegać zasad tego serwera.
sign-up-rules = Przeczytaj zasady
sign-up-button = Utwórz moje konto
field-username-blank = Wybierz nazwę użytkownika.
field-username-name-invalid = Użyj tylko małych liter od a do z, cyfr i podkreśleń. W środku mogą być kropki i łączniki.
field-username-too-long = Wybierz nazwę użytkownika o długości do { $count } znaków.
field-username-reserved = Ta nazwa użytkownika jest zastrzeżona. Wybierz inną.
field-username-taken = Ta nazwa użytkownika jest już zajęta. Wybierz inną.
field-email-email-invalid = Sprawdź adres. Powinien wyglądać jak nazwa@example.org.
field-email-too-long = Wpisz adres o długości do { $count } znaków.
field-password-blank = Wybierz hasło.
field-password-too-short = Wybierz hasło o długości co najmniej { $count } znaków.
field-password-too-long = Wybierz hasło o długości do { $count } znaków.
field-password-password-common = To hasło łatwo odgadnąć. Wybierz inne.
field-agreement-not-accepted = Zaakceptuj zasady tego serwera.
sign-up-sign-in = Mam już konto
registration-closed-title = Brak nowych kont
registration-closed-sentence = Ten serwer nie przyjmuje nowych kont.
registration-closed-advice = Zapytaj osoby, które go prowadzą.

## Front page

front-title = Witamy
front-sentence = Tutaj decydujesz, które aplikacje mogą używać Twojego konta i o jakich wiadomościach dostajesz powiadomienia.
front-signed-in = Zalogowano jako { $account }.
front-account = Przejdź do swojego konta
front-developers = Dla programistów
front-developers-sentence = Aplikacje łączą się z tym serwerem przez OAuth 2.0 oraz interfejsy API Mastodona i Matriksa.
front-api = Opis API (OpenAPI)
front-documentation = Dokumentacja

## Wylogowanie

signed-out-title = Wylogowano
signed-out-sentence = Możesz zamknąć tę stronę.
signed-out-button = Zaloguj się ponownie

## Co może pójść nie tak

invalid-request-title = Na tę prośbę nie można odpowiedzieć
invalid-request-advice = Wróć do aplikacji i spróbuj ponownie. Jeśli to się powtórzy, daj znać twórcom aplikacji.
malformed-sentence = Ten serwer nie mógł odczytać tego, co zostało wysłane.
app-error-unknown = Ten serwer nie zna aplikacji, z której przychodzisz, albo już jej nie dopuszcza.
app-error-redirect-uri = Aplikacja chce skierować Cię pod adres, którego tu nie zarejestrowała.
app-error-scope = Aplikacja prosi o uprawnienia, których nie może tu otrzymać.
app-error-request = Żądanie aplikacji jest niepełne lub błędne.
app-error-details = Dla twórców aplikacji:
denied-title = Odmówiono dostępu
denied-sentence = Aplikacja nie otrzymała dostępu. Nic Twojego nie zostało udostępnione.
denied-advice = Możesz zamknąć tę stronę.
expired-title = Ta prośba nie jest już aktualna
expired-sentence = Udzielono już na nią odpowiedzi albo minęło zbyt dużo czasu.
expired-advice = Wróć do aplikacji i zacznij od nowa.
forged-form-title = Nie udało się sprawdzić tego formularza
forged-form-sentence = Być może w innej karcie nastąpiło logowanie lub wylogowanie albo przeglądarka nie wysłała pliku cookie tego serwera.
forged-form-advice = Zezwól na pliki cookie tego serwera, wróć i spróbuj ponownie.
rate-limited-title = Zbyt wiele żądań
rate-limited-sentence = Ten serwer otrzymał od Ciebie zbyt wiele żądań w krótkim czasie.
rate-limited-advice =
    Spróbuj ponownie za { $minutes ->
        [one] minutę
        [few] { $minutes } minuty
        [many] { $minutes } minut
       *[other] { $minutes } minuty
    }.
internal-title = Coś poszło nie tak
internal-sentence = Błąd leży po stronie tego serwera, nie Twojej. Został zapisany.
internal-advice = Spróbuj ponownie za chwilę.
busy-title = Ten serwer jest zajęty
busy-sentence = W tej chwili nie może odpowiedzieć. Twoje żądanie nie było błędne.
busy-advice = Spróbuj ponownie za chwilę.
not-found-title = Nie znaleziono strony
not-found-sentence = Pod tym adresem nic nie ma.
not-found-advice = Sprawdź adres albo wróć do aplikacji, która Cię tu skierowała.

## Błędy rejestracji

validation-failed = Sprawdzenie nie powiodło się: { $errors }
validation-list = { $errors }, { $error }

app-name-blank = Nazwa aplikacji nie może być pusta
app-name-invalid = Nazwa aplikacji jest nieprawidłowa
app-name-too-long = Nazwa aplikacji jest za długa (maksymalna liczba znaków: { $count })
app-redirect-uri-blank = Adres URI przekierowania nie może być pusty
app-redirect-uri-forbidden = Serwer nie pozwala na ten adres URI przekierowania.
app-redirect-uri-invalid = Adres URI przekierowania musi być prawidłowym adresem URI.
app-redirect-uri-relative = Adres URI przekierowania musi być bezwzględny.
app-redirect-uri-opaque = Adres URI przekierowania musi zawierać schemat.
app-redirect-uri-fragment = Adres URI przekierowania nie może zawierać fragmentu.
app-redirect-uri-user-info = Adres URI przekierowania nie może zawierać nazwy użytkownika ani hasła.
app-redirect-uri-wildcard = Adres URI przekierowania nie może zawierać symbolu wieloznacznego.
app-redirect-uri-insecure = Adres URI przekierowania musi używać HTTPS (http jest dozwolone tylko dla localhost).
app-redirect-uri-too-long = Adres URI przekierowania jest za długi (maksymalna liczba znaków: { $count })
app-scopes = Uprawnienia nie odpowiadają tym, które zna serwer.
app-unknown-scope = Uprawnienia nie odpowiadają tym, które zna serwer: { $scope } jest nieznane (scopes_supported, /.well-known/oauth-authorization-server).
app-website-invalid = Strona aplikacji nie jest prawidłowym adresem URL
app-website-too-long = Adres strony aplikacji jest za długi (maksymalna liczba znaków: { $count })
app-auth-method = Metodą uwierzytelniania aplikacji (token_endpoint_auth_method) musi być client_secret_basic lub client_secret_post (publiczne aplikacje bez klucza tajnego nie są obsługiwane: zarejestruj każdą instalację aplikacji, aby otrzymała własny klucz)

account-error = { $field }: { $error }
account-field-username = Nazwa użytkownika
account-field-email = Adres e-mail
account-field-password = Hasło
account-field-agreement = Warunki usługi
account-blank = to pole nie może być puste
account-name-invalid = dozwolone są tylko małe litery, cyfry i podkreślenia, a kropki i łączniki tylko wewnątrz
account-email-invalid = to nie jest prawidłowy adres e-mail
account-too-long = zbyt wiele znaków (maksymalna liczba: { $count })
account-too-short = zbyt mało znaków (minimalna liczba: { $count })
account-password-common = to hasło jest zbyt łatwe do odgadnięcia; proszę wybrać inne
account-reserved = ta wartość jest zastrzeżona
account-taken = ta wartość jest już zajęta
account-not-accepted = wymagana jest akceptacja
