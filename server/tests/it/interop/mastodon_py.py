"""Gets and revokes a token and manages accounts with unmodified Mastodon.py. Arguments: server URL,
name of an admin, password."""

import re
import sys
from datetime import datetime
from urllib.parse import parse_qs, urlsplit

import requests
from mastodon import (
    Mastodon,
    MastodonAPIError,
    MastodonIllegalArgumentError,
    MastodonNotFoundError,
    MastodonUnauthorizedError,
)

SCOPES = ["read", "write", "push"]
CALLBACK = "https://app.example/cb"
OOB = "urn:ietf:wg:oauth:2.0:oob"


def hidden_fields(page, action):
    """Returns the hidden fields of the form with this action."""
    form = page.text.split(f'action="{action}">')[1].split("</form>")[0]
    return dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]+)"', form))


def approve(url, name, password):
    """Signs in and approves the request as in a browser; returns the last response."""
    browser, server = requests.Session(), "http://" + urlsplit(url).netloc
    page = browser.get(url)
    form = hidden_fields(page, "/oauth/sign_in") | {"username": name, "password": password}
    page = browser.post(server + "/oauth/sign_in", data=form)
    form = hidden_fields(page, "/oauth/authorize") | {"decision": "allow"}
    response = browser.post(server + "/oauth/authorize", data=form, allow_redirects=False)
    assert response.status_code == 303, response.text
    if response.headers["location"].startswith("/"):
        response = browser.get(server + response.headers["location"])
        assert response.status_code == 200, response.text
    return response


def assert_raises(error, call):
    """Asserts that a call raises this error."""
    try:
        call()
    except error:
        return
    raise AssertionError(f"expected {error.__name__}")


def names(accounts):
    """Returns the names of accounts. For version 1, Mastodon.py returns plain dictionaries."""
    return [account["username"] for account in accounts]


def link(page):
    """Returns a link to another page without its type, because Mastodon.py cannot parse the type name
    that it sets for these lists."""
    return {key: value for key, value in page.items() if key != "_mastopy_type"}


def administer(url, name, password):
    """Manages accounts as an admin."""
    scopes = ["read", "admin:read", "admin:write"]
    client_id, secret = Mastodon.create_app("Admin", scopes=scopes, redirect_uris=CALLBACK, api_base_url=url)
    admin = Mastodon(client_id, secret, api_base_url=url, version_check_mode="created")
    request_url = admin.auth_request_url(redirect_uris=CALLBACK, scopes=scopes, allow_http=True)
    (code,) = parse_qs(urlsplit(approve(request_url, name, password).headers["location"]).query)["code"]
    admin.log_in(code=code, redirect_uri=CALLBACK, scopes=scopes, allow_http=True)
    assert admin.me().role.name == "Admin"

    # The newest account comes first: carol signed up last.
    assert names(admin.admin_accounts_v2()) == ["carol", name]
    page = admin.admin_accounts_v2(limit=1)
    assert names(page) == ["carol"]
    page = admin.fetch_next(link(page._pagination_next))
    assert names(page) == [name]
    assert names(admin.fetch_previous(link(page._pagination_prev))) == ["carol"]
    assert not admin.fetch_next(link(page._pagination_next))
    first = admin.admin_accounts_v2(origin="local", limit=1)
    assert names(admin.admin_accounts_v2(permissions="staff")) == [name]
    assert names(admin.admin_accounts_v2(role_ids=[3])) == [name]
    assert names(admin.admin_accounts_v2(username="car")) == ["carol"]
    assert admin.admin_accounts_v2(status="pending") == []

    (carol,) = first
    assert admin.admin_account(carol).account.acct == "carol"
    assert carol.email == "carol@example.org" and not carol.confirmed and carol.ip is None and carol.ips == []
    admin.admin_account_moderate(carol, text="be nice")
    admin.admin_account_moderate(carol, "disable", text="spam")
    assert names(admin.admin_accounts_v2(status="disabled")) == ["carol"]
    assert admin.admin_account(carol).disabled and not admin.admin_account_enable(carol).disabled
    assert_raises(MastodonAPIError, lambda: admin.admin_account_moderate(carol, "suspend"))
    assert_raises(MastodonAPIError, lambda: admin.admin_account_delete(admin.me()))
    assert admin.admin_account_delete(carol).username == "carol"
    assert_raises(MastodonNotFoundError, lambda: admin.admin_account(carol))


def main(url, name, password):
    client_id, secret = Mastodon.create_app(
        "Interop", scopes=SCOPES, redirect_uris=[CALLBACK, OOB], website="https://app.example", api_base_url=url
    )
    app = Mastodon(client_id, secret, api_base_url=url, version_check_mode="created")
    assert app.verify_minimum_version("4.3.0")
    assert app.instance().title and app.instance_v1().uri and app.instance_nodeinfo().version == "2.0"

    request_url = app.auth_request_url(redirect_uris=CALLBACK, scopes=SCOPES, state="s", allow_http=True)
    response = parse_qs(urlsplit(approve(request_url, name, password).headers["location"]).query)
    assert response["state"] == ["s"], response
    (code,) = response["code"]
    token = app.log_in(code=code, redirect_uri=CALLBACK, scopes=SCOPES, allow_http=True)
    assert app.account_verify_credentials().username == name
    assert app.app_verify_credentials().name == "Interop"
    try:
        app.log_in(code=code, redirect_uri=CALLBACK, scopes=SCOPES, allow_http=True)
        raise AssertionError("a code was redeemed twice")
    except MastodonIllegalArgumentError:
        pass
    try:
        app.account_verify_credentials()
        raise AssertionError("the token of a code that was redeemed twice is still valid")
    except MastodonUnauthorizedError:
        pass

    # Out of band. Mastodon.py sends `state` and `lang` as the word None.
    request_url = app.auth_request_url(scopes=SCOPES, allow_http=True)
    (code,) = re.findall(r'id="code"[^>]*>([^<]+)<', approve(request_url, name, password).text)
    token = app.log_in(code=code, scopes=SCOPES, allow_http=True)
    client = Mastodon(client_id, secret, access_token=token, api_base_url=url)
    assert client.me().acct == name
    client.revoke_access_token(allow_http=True)
    try:
        Mastodon(access_token=token, api_base_url=url).me()
        raise AssertionError("a revoked token is still valid")
    except MastodonUnauthorizedError:
        pass

    carol = Mastodon(client_id, secret, api_base_url=url)
    account, error = carol.create_account(
        name, "correct horse", "carol@example.org", agreement=True, scopes=SCOPES, return_detailed_error=True
    )
    assert account is None and error.details.username[0].error == "ERR_TAKEN", error
    carol.create_account("carol", "correct horse", "carol@example.org", agreement=True, scopes=SCOPES)
    assert carol.me().username == "carol"
    administer(url, name, password)
    print("Mastodon.py succeeded")


main(*sys.argv[1:])
