# English. The registration errors are also those of the API.

## Sign in

sign-in-title = Sign in
sign-in-app = { $app } asks to use your account.
sign-in-name = Name or e-mail address
sign-in-password = Password
sign-in-show-password = Show password
sign-in-button = Sign in
sign-in-wrong = The name or the password is wrong. Please check both.
sign-in-wrong-address = If you signed up here, use your username instead of the e-mail address.
sign-in-disabled = This account is disabled. Please contact those who run this server.
sign-in-too-many =
    Too many attempts. Please try again in { $minutes ->
        [one] one minute
       *[other] { $minutes } minutes
    }.
sign-in-forgot = Forgot your password?
sign-in-forgot-ask = The people who run this server can give you a new one.
sign-in-sign-up = Create an account
languages = Language

## Consent

consent-title = Allow { $app } to use your account?
consent-operator-app = The people who run this server have added this app.
consent-local-app = Any app can use this name. Allow it only if you have just opened it on this device yourself.
consent-account = Your account
consent-switch = Use another account
consent-allows = This allows { $app } to:
consent-admin-allows = As an administrator of this server:
consent-then-host = After that you go back to { $host }.
consent-then-device = After that you go back to an app on this device.
consent-then-code = After that you see a code to enter in { $app }.
consent-allow = Allow { $app }
consent-deny = Deny

consent-all-read = See everything in your account
consent-all-write = Change everything in your account and act in your name
consent-all-both = See and change everything in your account, and act in your name
consent-matrix-both = Use your whole chat account: read and send messages, and change rooms, devices and settings
consent-accounts-read = See your account details
consent-accounts-write = Change your profile
consent-accounts-both = See your account details and change your profile
consent-blocks-read = See whom you block
consent-blocks-write = Block and unblock people
consent-blocks-both = See and change whom you block
consent-bookmarks-read = See your bookmarks
consent-bookmarks-write = Add and remove bookmarks
consent-bookmarks-both = See and change your bookmarks
consent-conversations-write = Mute and delete conversations
consent-favourites-read = See your favourites
consent-favourites-write = Add and remove favourites
consent-favourites-both = See and change your favourites
consent-filters-read = See your filters
consent-filters-write = Change your filters
consent-filters-both = See and change your filters
consent-follow-both = See and change whom you follow, block and mute
consent-follows-read = See whom you follow
consent-follows-write = Follow and unfollow people
consent-follows-both = See and change whom you follow
consent-lists-read = See your lists
consent-lists-write = Change your lists
consent-lists-both = See and change your lists
consent-media-write = Upload pictures, sounds and videos
consent-mutes-read = See whom you mute
consent-mutes-write = Mute and unmute people and conversations
consent-mutes-both = See and change whom you mute
consent-notifications-read = See your notifications and the rules for them
consent-notifications-write = Clear your notifications and change the rules for them
consent-notifications-both = See and clear your notifications, and change the rules for them
consent-profile-read = See your name and profile
consent-push-both = Send you push notifications, see the messages in them, and see and change the rules for them
consent-reports-write = Report people and posts in your name
consent-search-read = Search in your name
consent-statuses-read = See posts, including private ones that you can see
consent-statuses-write = Publish, edit and delete posts in your name
consent-statuses-both = See posts, including private ones, and publish, edit and delete them in your name

consent-admin-all-read = See everything that only administrators see
consent-admin-all-write = Change everything that only administrators change
consent-admin-all-both = See and change everything on this server
consent-admin-accounts-read = See all accounts and their private details
consent-admin-accounts-write = Moderate accounts
consent-admin-accounts-both = See all accounts and their private details, and moderate them
consent-admin-reports-read = See reports
consent-admin-reports-write = Act on reports
consent-admin-reports-both = See and act on reports
consent-admin-domain_allows-read = See which servers are allowed
consent-admin-domain_allows-write = Change which servers are allowed
consent-admin-domain_allows-both = See and change which servers are allowed
consent-admin-domain_blocks-read = See which servers are blocked
consent-admin-domain_blocks-write = Change which servers are blocked
consent-admin-domain_blocks-both = See and change which servers are blocked
consent-admin-ip_blocks-read = See which IP addresses are blocked
consent-admin-ip_blocks-write = Change which IP addresses are blocked
consent-admin-ip_blocks-both = See and change which IP addresses are blocked
consent-admin-email_domain_blocks-read = See which e-mail providers are blocked
consent-admin-email_domain_blocks-write = Change which e-mail providers are blocked
consent-admin-email_domain_blocks-both = See and change which e-mail providers are blocked
consent-admin-canonical_email_blocks-read = See which e-mail addresses are blocked
consent-admin-canonical_email_blocks-write = Change which e-mail addresses are blocked
consent-admin-canonical_email_blocks-both = See and change which e-mail addresses are blocked

## The code page, for apps without a redirect URI

code-title = Your code for { $app }
code-sentence = Copy this code and enter it in { $app }.
code-label = Code
code-copy = Copy
code-copied = Copied
code-care = It works once and only for a few minutes. Show it to nobody else.

## The form_post page

return-title = Back to { $app }
return-sentence = Your answer is on its way to { $app }. If nothing happens, press the button.
return-button = Continue to { $app }

## Your account

nav-overview = Overview
nav-notifications = Notifications
nav-devices = Devices
nav-security = Security
nav-skip = Skip to the content
notice-saved = Saved.
notice-keyword-muted = Saved. This word was one of your keywords. It is now muted instead.
notice-word-unmuted = Saved. This word was muted. It is now a keyword instead.
notice-removed = Removed.
notice-not-saved = Nothing was saved, because you were no longer signed in. Please try again.
notice-signed-out = Your session in this browser has ended, for example because your password was changed or a long time has passed. Please sign in again.
notice-app-removed = That app no longer has access to your account.
pager-position = Page { $page } of { $pages }
pager-previous = Previous page
pager-next = Next page
sign-out-button = Sign out
email-change = Change e-mail address
email-add = Add an e-mail address
apps-title = Apps with access
apps-none = No app has access to your account.
apps-removal = An app that you remove loses its access immediately. You can allow it again later.
apps-since = Since { $time }
apps-remove = Remove access
apps-matrix = Matrix clients
apps-matrix-note = Apps in which you signed in with your password.
apps-matrix-device-note = You signed in there with your password.
apps-command-line = Command line
apps-issued-note = Issued by those who run this server.

## Notifications

notifications-pause = Pause everything
notifications-on = Notifications are on.
notifications-paused = Everything is paused until you switch it on again.
notifications-paused-until = Everything is paused until { $time }.
notifications-pause-hour = Pause for an hour
notifications-pause-8-hours = Pause for 8 hours
notifications-pause-morning = Pause until 8:00 in the morning
notifications-pause-open = Pause until I switch it on again
notifications-resume = Switch on again
notifications-utc = The times on this page are in UTC, which may differ from your time zone. This includes 8:00 in the morning, but not the times of the quiet hours, which are in the time zone that you choose for them.
notifications-quiet-sentence = Times of the week at which you want quiet, such as the night.
notifications-quiet-off = Quiet hours are off.
notifications-quiet-later = Quiet hours are on. Right now it is not quiet.
notifications-quiet-until = It is quiet until { $time }.
notifications-quiet-always = It is always quiet.
notifications-quiet-other-rule = It is quiet now because of times that an app has set. The form below does not change them.
notifications-quiet-custom = An app has set times that this page cannot show. Saving replaces them.
notifications-quiet-days = Begins on
notifications-quiet-monday = Monday
notifications-quiet-tuesday = Tuesday
notifications-quiet-wednesday = Wednesday
notifications-quiet-thursday = Thursday
notifications-quiet-friday = Friday
notifications-quiet-saturday = Saturday
notifications-quiet-sunday = Sunday
notifications-quiet-from = From
notifications-quiet-to = To
notifications-quiet-to-hint = If this is not later than the beginning, it is a time on the next day.
notifications-quiet-zone = Time zone
notifications-quiet-zone-hint = For example Europe/Berlin or UTC
notifications-quiet-level = How quiet?
notifications-quiet-important = Except for mentions and keywords
notifications-quiet-important-hint = You are still notified of mentions, keywords and invitations, and of people and rooms that you let notify you. Calls and all other messages stay silent.
notifications-quiet-total = Total quiet
notifications-quiet-total-hint = Nothing notifies you, not even mentions.
notifications-quiet-end = Switch off
notifications-devices = Devices
notifications-all-devices = All devices
notifications-device = These settings apply to devices with the profile { $profile }. They take precedence over the settings for all devices.
notifications-more-profiles = More device profiles, which are not shown here: { $count }.
notifications-keywords = Keywords
notifications-keywords-sentence = A message with one of these words notifies you, unless it also has a muted word.
notifications-keywords-none = You have no keywords.
notifications-muted-words = Muted words
notifications-muted-words-sentence = A message with a muted word stays silent, unless it mentions you or @room, or contains your display name.
notifications-muted-words-none = You have no muted words.
notifications-mute-word = Mute a word
notifications-mute = Mute
notifications-word = Word
notifications-word-hint = Capital letters make no difference; * stands for any characters, ? for one.
notifications-sound = Sound
notifications-highlight = Highlight
notifications-add-keyword = Add keyword
notifications-save = Save
notifications-remove = Remove
notifications-subjects = People and rooms
notifications-subjects-sentence = A muted person or room stays silent, unless a message mentions you or @room, or contains your display name, your username or one of your keywords.
notifications-subjects-none = You have no settings for people or rooms.
notifications-id = Person or room
notifications-id-hint = The id of a person, such as @name:server, or of a room, such as !id:server. A link from your app works, too.
notifications-choice = Notifications
notifications-choice-hint = When the time is over, the entry is removed.
notifications-choice-notify = Always notify
notifications-choice-mute = Mute until I change it
notifications-choice-mute-hour = Mute for an hour
notifications-choice-mute-8-hours = Mute for 8 hours
notifications-choice-mute-day = Mute for a day
notifications-choice-mute-week = Mute for a week
notifications-add = Add
notifications-add-subject = Add a person or room
notifications-people = People
notifications-rooms = Rooms
notifications-off = Off
notifications-muted = Muted
notifications-silent = Muted, also mentions
notifications-notifies = Always notifies
notifications-until = Until { $time }
notifications-switches = What notifies you
notifications-switches-sentence = These apply to messages for which you have no setting of your own.
notifications-messages = Messages
notifications-mentions = Mentions
notifications-calls = Calls and invitations
notifications-rare = Bots, edits, reactions and changes to rooms
notifications-rare-sentence = Reactions and changes to rooms notify you in muted rooms, too.
notifications-switch-on = On
notifications-switch-partly = Partly on
notifications-switch-off = Off
notifications-switch-one-to-one = Notify me of messages in rooms with one other person
notifications-switch-group = Notify me of messages in all other rooms
notifications-switch-bots = Notify me of messages from bots
notifications-switch-edits = Notify me when a message is edited
notifications-switch-reactions = Notify me of reactions
notifications-switch-mention = Notify me when somebody mentions me
notifications-switch-display-name = Notify me when a message contains my display name
notifications-switch-user-name = Notify me when a message contains my username
notifications-switch-room-mention = Notify me when somebody mentions everyone in a room with @room
notifications-switch-call = Notify me when somebody calls me
notifications-switch-invitation = Notify me when somebody invites me to a room
notifications-switch-upgrade = Notify me when a room is replaced by a new one
notifications-switch-members = Notify me when people join, leave or change their name
notifications-switch-servers = Notify me when the servers that may take part in a room change
notifications-error-word-blank = Please enter a word.
notifications-error-word-too-long = This word is too long. Please enter a shorter one.
notifications-error-id-blank = Please enter the id of a person or a room.
notifications-error-id-too-long = This is too long for an id. Please check it.
notifications-error-room-alias = This is the address of a room, not its id. The id begins with !, and your app shows it in the settings of the room.
notifications-error-person-without-server = The server is missing. The id of a person looks like this: @name:server
notifications-error-id-invalid = This is not an id. The id of a person looks like @name:server, the id of a room like !id:server.
notifications-error-text-blank = Please enter a message.
notifications-error-quiet-days-missing = Please choose at least one day.
notifications-error-quiet-time-invalid = Please enter two times, for example 22:00 and 07:00.
notifications-error-quiet-zone-unknown = This server does not know this time zone. A time zone looks like Europe/Berlin.
notifications-error-quiet-changed = The quiet hours were changed in the meantime, perhaps in another tab or app. Nothing was saved. You see them here as they are now.
notifications-error-too-many = You have as many rules as this server allows ({ $count }). Please remove some first.
notifications-error-too-large = Your rules take up all the space that this server allows. Please remove some first.
notifications-error-changed = { $name } was changed in the meantime, perhaps in another tab or app. Nothing was saved. You see it here as it is now.
notifications-error-removed = { $name } was removed in the meantime, perhaps in another tab or app. Nothing was saved.
notifications-error-other = This could not be saved. Please check what you entered.

## Devices

devices-intro = Apps and browsers that receive your notifications.
devices-off = This server does not send notifications to devices.
devices-none = No device receives your notifications yet. Sign in with an app on a device and switch on notifications there. Then the device appears here.
devices-mastodon = Mastodon app, through { $host }
devices-gateway = Matrix app, through the gateway { $host }
devices-web-push = Matrix app, through { $host }
devices-waiting = Waiting for the app to confirm
devices-disabled = Switched off in the app
devices-delivered = Last delivered: { $time }
devices-failed = Last attempt failed: { $time }
devices-test = Send a test
devices-test-body = Notifications reach this device.
devices-error-unreachable = The push service cannot be reached.
devices-error-timeout = The push service did not respond in time.
devices-error-denied = The push service does not accept messages from this server.
devices-error-busy = The push service is overloaded and asks this server to wait.
devices-error-rejected = The push service rejected the message (status { $status }).
devices-error-status = The push service reports an error (status { $status }).
devices-error-gone = The push service no longer knows this device.
devices-error-other = The message could not be sent.
deliveries-title = Latest deliveries
deliveries-tests = Latest tests
deliveries-test = Test
deliveries-ack = Request to confirm the device
deliveries-counts = Number on the app icon
deliveries-other = Notification
deliveries-former-device = A device that is no longer listed
deliveries-waiting = Waiting since { $time }
deliveries-next = Next attempt: { $time }
deliveries-delivered = Delivered: { $time }
deliveries-dropped = Not delivered: { $time }
deliveries-expired = Not delivered in time: { $time }
deliveries-removed = Not delivered, because the device was removed: { $time }
deliveries-read = Not needed, because it was read elsewhere: { $time }
deliveries-replaced = Replaced by a newer one: { $time }

## Rules of apps, and titles of rules

notifications-rules = Rules of apps
notifications-rules-sentence = Apps have made these rules, which the settings above cannot show.
rules-about-word = Messages with the word { $word }
rules-about-room = Messages in the room { $room }
rules-about-sender = Messages from { $sender }
rules-about-other = Rule with conditions of its own
rules-about-quiet-hours = Quiet hours
rules-about-suppress-notices = Messages from bots
rules-about-invite-for-me = Invitations to rooms
rules-about-member-event = People who join, leave or change their name
rules-about-is-user-mention = Messages that mention you
rules-about-contains-display-name = Messages with your display name
rules-about-is-room-mention = Messages that mention everyone in a room
rules-about-roomnotif = Messages with @room in the text
rules-about-tombstone = Rooms that are replaced by a new one
rules-about-reaction = Reactions
rules-about-room-server-acl = Changes to the servers that may take part in a room
rules-about-suppress-edits = Edits of messages
rules-about-contains-user-name = Messages with your username
rules-about-call = Calls
rules-about-encrypted-room-one-to-one = Encrypted messages in rooms with one other person
rules-about-room-one-to-one = Messages in rooms with one other person
rules-about-message = Messages in all other rooms
rules-about-encrypted = Encrypted messages in all other rooms
rules-notify = Notifies
rules-silent = Silent
rules-delete = Delete
rules-delete-effect = A deleted rule cannot be brought back.

## Try a message

try-title = Try a message
try-intro = See what your rules do with a message. Nothing is sent or stored.
try-text = Message
try-sender = From
try-sender-hint = Optional: a name on this server, or an id such as @name:server.
try-chat = Where
try-group = In a group
try-direct = In a direct chat with you
try-button = Try
try-notify = You would be notified, { $reason }.
try-sound = You would be notified with a sound, { $reason }.
try-silent = You would not be notified, { $reason }.
try-because-own = because it is your own message
try-because-no-rule = because no rule fits
try-because-paused = because everything is paused
try-because-quiet = because these are quiet hours
try-because-switched-on = because “{ $name }” is on
try-because-switched-off = because you switched off “{ $name }”
try-because-keyword = because of your keyword { $name }
try-because-muted-word = because you muted the word { $name }
try-because-sender = because of your rule for { $name }
try-because-muted-sender = because you muted { $name }
try-because-rule = because of your rule { $name }

## Security

deletion-pending = Your account will be deleted on { $time }.
deletion-keep = Keep my account
password-effect = A new password signs out all other browsers and all apps. You stay signed in here.
password-current = Current password
password-new = New password
password-again = New password again
password-button = Change password
password-wrong = This is not your password.
password-hint = At least { $count } characters, and not a common password
password-different = The two passwords are not the same.
email-verified = You can sign in with this address. After a change you sign in with your username only.
sessions-title = Where you are signed in
sessions-this = This browser
sessions-browser = { $browser } on { $system }
sessions-unknown = Unknown browser
sessions-since = Signed in on { $time }
sessions-more = More browsers
sessions-others = Sign out everywhere else
used-recently = Used in the last hour
used-hours =
    Last used { $count ->
        [one] an hour
       *[other] { $count } hours
    } ago
used-days =
    Last used { $count ->
        [one] a day
       *[other] { $count } days
    } ago
used-never = Not used yet
tokens-count =
    Signed in { $count ->
        [one] once
       *[other] { $count } times
    }
only-last-used =
    Only the { $count ->
        [one] one
       *[other] { $count }
    } used last are shown here.
data-title = Your data
data-content = One file with your account, apps, sessions, devices and notification rules, and a record of what happened to your account. It contains no passwords.
data-button = Download my data
delete-title = Delete your account
delete-effect = Your account is deleted after one day, with its apps and notification rules. Until then you can change your mind. Nobody else can sign up with your name.
delete-button = Delete my account
delete-last-admin = You are the only administrator of this server. Make somebody else one first.
notice-token-revoked = That sign-in of the app has ended.
notice-password-changed = Your password is changed. All other browsers and all apps are signed out.
notice-email-changed = Your e-mail address is updated.
notice-session-ended = That browser is signed out.
notice-sessions-ended = All other browsers are signed out.
notice-deletion-cancelled = Your account will not be deleted.
notice-test-sent = The test is on its way. The list below shows whether it has arrived; reload the page to update it.
notice-test-not-sent = No test was sent: the device gets no messages right now, or too many are waiting for it.

## Sign up

sign-up-name = Username
sign-up-name-hint = Lowercase letters from a to z, numbers and underscores, in the middle also dots and hyphens. You cannot change it later.
sign-up-email = E-mail address
sign-up-email-hint = Optional. The people who run this server can reach you there. You sign in with your username.
sign-up-again = Password again
sign-up-agreement = I will follow the rules of this server.
sign-up-rules = Read the rules
sign-up-button = Create my account
field-username-blank = Please choose a username.
field-username-name-invalid = Please use only lowercase letters from a to z, numbers and underscores. Dots and hyphens can be in the middle.
field-username-too-long = Please choose a username of at most { $count } characters.
field-username-reserved = This username is reserved. Please choose a different one.
field-username-taken = This username is already taken. Please choose a different one.
field-email-email-invalid = Please check the address. It should look like name@example.org.
field-email-too-long = Please enter an address of at most { $count } characters.
field-password-blank = Please choose a password.
field-password-too-short = Please choose a password of at least { $count } characters.
field-password-too-long = Please choose a password of at most { $count } characters.
field-password-password-common = This password is easy to guess. Please choose a different one.
field-agreement-not-accepted = Please accept the rules of this server.
sign-up-sign-in = I already have an account
registration-closed-title = No new accounts
registration-closed-sentence = This server does not accept new accounts.
registration-closed-advice = Please ask the people who run this server.

## Front page

front-title = Welcome
front-sentence = Here you decide which apps may use your account, and which messages notify you.
front-signed-in = You are signed in as { $account }.
front-account = Go to your account
front-developers = For developers
front-developers-sentence = Apps connect to this server with OAuth 2.0 and with the APIs of Mastodon and Matrix.
front-api = Description of the API (OpenAPI)
front-documentation = Documentation

## Signed out

signed-out-title = You are signed out
signed-out-sentence = You can close this page.
signed-out-button = Sign in again

## Error pages

invalid-request-title = This request cannot be answered
invalid-request-advice = Go back to the app and try again. If this happens again, please tell the makers of the app.
malformed-sentence = This server could not read what was sent.
app-error-unknown = This server does not know the app that sent you here, or no longer allows it.
app-error-redirect-uri = The app wants to send you to an address that it has not registered here.
app-error-scope = The app asks for permissions that it cannot get here.
app-error-request = The app's request is incomplete or wrong.
app-error-details = For the makers of the app:
denied-title = Access denied
denied-sentence = The app got no access. Nothing of yours was shared.
denied-advice = You can close this page.
expired-title = This request is no longer open
expired-sentence = It has already been answered, or too much time has passed.
expired-advice = Go back to the app and start again.
forged-form-title = This form could not be checked
forged-form-sentence = You may have signed in or out in another tab, or your browser did not send this server's cookie.
forged-form-advice = Allow cookies for this server, go back and try again.
rate-limited-title = Too many requests
rate-limited-sentence = This server has received too many requests from you in a short time.
rate-limited-advice =
    Please try again in { $minutes ->
        [one] one minute
       *[other] { $minutes } minutes
    }.
internal-title = Something went wrong here
internal-sentence = The mistake is this server's, not yours. It has been noted.
internal-advice = Please try again in a moment.
busy-title = This server is busy
busy-sentence = It cannot answer right now. Your request was not wrong.
busy-advice = Please try again in a moment.
not-found-title = Page not found
not-found-sentence = There is nothing at this address.
not-found-advice = Please check the address, or go back to the app you came from.

## Registration errors

validation-failed = Validation failed: { $errors }
validation-list = { $errors }, { $error }

app-name-blank = Application name can't be blank
app-name-invalid = Application name is invalid
app-name-too-long = Application name is too long (maximum is { $count } characters)
app-redirect-uri-blank = Redirect URI can't be blank
app-redirect-uri-forbidden = Redirect URI is forbidden by the server.
app-redirect-uri-invalid = Redirect URI must be a valid URI.
app-redirect-uri-relative = Redirect URI must be an absolute URI.
app-redirect-uri-opaque = Redirect URI must specify a scheme.
app-redirect-uri-fragment = Redirect URI cannot contain a fragment.
app-redirect-uri-user-info = Redirect URI cannot contain a user name or password.
app-redirect-uri-wildcard = Redirect URI cannot contain a wildcard.
app-redirect-uri-insecure = Redirect URI must be an HTTPS/SSL URI (http is only allowed for localhost).
app-redirect-uri-too-long = Redirect URI is too long (maximum is { $count } characters)
app-scopes = Scopes doesn't match those configured on the server.
app-unknown-scope = Scopes doesn't match those configured on the server: { $scope } is unknown (scopes_supported in /.well-known/oauth-authorization-server).
app-website-invalid = Application website is not a valid URL
app-website-too-long = Application website is too long (maximum is { $count } characters)
app-auth-method = Token endpoint auth method must be client_secret_basic or client_secret_post (public clients are not supported: register each installation of the app to get its own secret)

account-error = { $field } { $error }
account-field-username = Username
account-field-email = E-mail address
account-field-password = Password
account-field-agreement = Service agreement
account-blank = can't be blank
account-name-invalid = must contain only lowercase letters, digits and underscores; dots and hyphens are allowed except at the start or end
account-email-invalid = is not a valid e-mail address
account-too-long = is too long (maximum is { $count } characters)
account-too-short = is too short (minimum is { $count } characters)
account-password-common = is too easy to guess; choose a different one
account-reserved = is reserved
account-taken = has already been taken
account-not-accepted = must be accepted
