# English. The error messages equal those of the API.

## Sign in

sign-in-title = Sign in
sign-in-app = { $app } asks to use your account.
sign-in-name = Name or e-mail address
sign-in-password = Password
sign-in-button = Sign in
sign-in-wrong = The name or the password is wrong. Please check both.
sign-in-disabled = This account is disabled. Please contact those who run this server.
sign-in-too-many =
    Too many attempts. Please try again in { $minutes ->
        [one] one minute
       *[other] { $minutes } minutes
    }.
sign-in-forgot = Forgot your password?
sign-in-sign-up = Create an account

## Consent

consent-title = Allow { $app } to use your account?
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
consent-push-both = Send you push notifications, and see and change the rules for them
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
nav-rules = All rules
nav-try = Try a message
nav-security = Security
nav-skip = Skip to the content
notice-saved = Saved.
notice-not-saved = Nothing was saved, because you were no longer signed in. Please try again.
notice-app-removed = That app no longer has access to your account.
sign-out-button = Sign out
apps-title = Apps with access
apps-none = No app has access to your account.
apps-removal = An app that you remove loses its access at once. You can allow it again later.
apps-since = Since { $date }
apps-remove = Remove access
apps-link = See and remove apps with access
apps-matrix = Matrix clients
apps-matrix-note = Apps in which you signed in with your password.
apps-issued-note = Issued by those who run this server.
rules-title = Your notification rules
rules-none = You have no rules of your own. The built-in ones decide what you are notified of.
rules-order = The first rule that fits decides. Rules are changed in your apps.
rules-more = More rules, which are not shown here: { $count }. Your apps show them all.
rules-everywhere = On all devices
rules-device = On devices with the profile { $tag }
rules-override = Above all others
rules-content = Words
rules-room = Rooms
rules-sender = People
rules-underride = When nothing else fits
rules-builtin = Built-in rules that you changed
rules-pattern = Looks for { $pattern }
rules-on = On
rules-off = Off
rules-notify = Notifies
rules-silent = Silent
rules-sound = Sound
rules-highlight = Highlight

## Notifications

## All rules

## Try a message

## Security

## Sign up

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
denied-title = Access denied
denied-sentence = The app got no access. Nothing of yours was shared.
denied-advice = You can close this page.
expired-title = This request is no longer open
expired-sentence = It has already been answered, or too much time has passed.
expired-advice = Go back to the app and start again.
forged-form-title = This form could not be checked
forged-form-sentence = You may have signed in or out in another tab, or your browser did not send the cookie of this server.
forged-form-advice = Allow cookies for this server, go back and try again.
rate-limited-title = Too many requests
rate-limited-sentence = This server has received too many requests from you in a short time.
rate-limited-advice = Please wait a few minutes, then try again.
internal-title = Something went wrong here
internal-sentence = The mistake is on this server, not yours. It has been noted.
internal-advice = Please try again in a moment.
not-found-title = Page not found
not-found-sentence = There is nothing at this address.
not-found-advice = Please check the address, or go back to the app you came from.

## Errors of an authorization request

oauth-error-missing = Missing required parameter: { $parameter }.
oauth-error-repeated = The parameter { $parameter } was sent more than once.
oauth-error-not-one-value = The parameter { $parameter } must be one value, not a list.
oauth-error-state-too-long = The parameter state is too long (maximum is { $count } bytes).
oauth-error-too-long = The parameters are too long.
oauth-error-invalid-client = Client authentication failed due to unknown client, no client authentication included, or unsupported authentication method.
oauth-error-two-authentications = The request utilizes more than one mechanism for authenticating the client.
oauth-error-invalid-redirect-uri = The redirect uri included is not valid.
oauth-error-unsupported-response-type = The authorization server does not support this response type.
oauth-error-unsupported-response-mode = The authorization server does not support this response mode.
oauth-error-invalid-scope = The requested scope is invalid, unknown, or malformed.
oauth-error-invalid-challenge-method = The code_challenge_method must be S256.
oauth-error-invalid-challenge = The code_challenge must be a SHA-256 digest as 43 characters of base64url.
oauth-error-access-denied = The resource owner or authorization server denied the request.
oauth-error-unsupported-grant-type = The authorization grant type is not supported by the authorization server.
oauth-error-invalid-grant = The provided authorization grant is invalid, expired, revoked, does not match the redirection URI used in the authorization request, or was issued to another client.
oauth-error-unauthorized-revocation = You are not authorized to revoke this token

## Errors of a registration

validation-failed = Validation failed: { $problems }
validation-list = { $problems }, { $problem }

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
app-redirect-uri-insecure = Redirect URI must be an HTTPS/SSL URI.
app-redirect-uri-too-long = Redirect URI is too long (maximum is { $count } characters)
app-scopes = Scopes doesn't match those configured on the server.
app-website-invalid = Application website is not a valid URL
app-website-too-long = Application website is too long (maximum is { $count } characters)

account-error = { $field } { $problem }
account-field-username = Username
account-field-email = E-mail address
account-field-password = Password
account-field-agreement = Service agreement
account-blank = can't be blank
account-name-invalid = must contain only small letters, numbers and underscores, and dots or hyphens only inside
account-email-invalid = is not a valid e-mail address
account-too-long = is too long (maximum is { $count } characters)
account-too-short = is too short (minimum is { $count } characters)
account-password-common = is too common; take one that nobody else would
account-reserved = is reserved
account-taken = has already been taken
account-not-accepted = must be accepted
