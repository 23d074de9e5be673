"""Signs in, refreshes and revokes with the unmodified OAuth client of Authlib. Arguments: server URL,
URL of the test's user."""

import os
import sys

# Authlib requires HTTPS otherwise.
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

import requests
from authlib.common.security import generate_token
from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc7591 import ClientMetadataClaims
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata, get_well_known_url

CALLBACK = "http://127.0.0.1:4711/callback"
SCOPE = "profile read"
REFRESHES = 10


def fetch_metadata(issuer):
    metadata = AuthorizationServerMetadata(requests.get(get_well_known_url(issuer, external=True)).json())
    metadata.validate()
    assert metadata["issuer"] == issuer
    return metadata


def register(metadata):
    """Registers a client without a secret, and returns its id."""
    body = {"client_name": "Authlib", "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none",
            "grant_types": ["authorization_code", "refresh_token"], "scope": SCOPE}
    response = requests.post(metadata["registration_endpoint"], json=body)
    assert response.status_code == 201, response.text
    claims = ClientMetadataClaims(response.json(), {})
    claims.validate()
    assert body.items() <= claims.items(), claims
    return claims["client_id"]


def assert_rejected(error, call, *arguments, **options):
    """Asserts that a call raises this OAuth error."""
    try:
        call(*arguments, **options)
    except OAuthError as rejection:
        assert rejection.error == error, rejection
        return
    raise AssertionError(f"expected {error}")


def main(url, user_url):
    metadata = fetch_metadata(f"{url}/id")
    client_id, token_endpoint = register(metadata), metadata["token_endpoint"]
    stored = {}

    def store(token, refresh_token):
        assert refresh_token == stored["refresh_token"]
        stored.update(token)

    def new_session(token=None):
        return OAuth2Session(
            client_id, token_endpoint_auth_method="none", revocation_endpoint_auth_method="none", scope=SCOPE,
            redirect_uri=CALLBACK, code_challenge_method="S256", token_endpoint=token_endpoint, update_token=store,
            token=token)

    session, verifier = new_session(), generate_token(48)
    request, state = session.create_authorization_url(metadata["authorization_endpoint"], code_verifier=verifier)
    location = requests.post(user_url, data=request).text
    assert location.startswith(f"{CALLBACK}?"), location
    stored.update(session.fetch_token(authorization_response=location, state=state, code_verifier=verifier))
    assert (stored["token_type"], stored["expires_in"], stored["scope"]) == ("Bearer", 300, SCOPE), stored

    account = f"{url}/api/v1/accounts/verify_credentials"
    for _ in range(REFRESHES):
        refresh_token = stored["refresh_token"]
        # An app that starts with an expired token: the session refreshes before the request.
        session = new_session(stored | {"expires_at": 1})
        response = session.get(account)
        assert response.status_code == 200 and response.json()["username"] == "alice", response.text
        assert stored["refresh_token"] != refresh_token
    assert_rejected("invalid_scope", session.refresh_token, token_endpoint, scope="write")

    revocation_endpoint, refresh_token = metadata["revocation_endpoint"], stored["refresh_token"]
    response = session.revoke_token(revocation_endpoint, refresh_token, token_type_hint="refresh_token")
    assert response.status_code == 200, response.text
    assert session.get(account).status_code == 401
    assert_rejected("invalid_grant", session.refresh_token, token_endpoint)


main(*sys.argv[1:])
