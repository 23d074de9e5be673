"""Signs in and manages push rules with unmodified matrix-nio. Arguments: server URL, user ID,
password."""

import asyncio
import json
import sys
import time

from nio import AsyncClient, LoginResponse, WhoamiResponse
from nio.api import PushRuleKind
from nio.events import (
    PushEventMatch,
    PushNotify,
    PushRoomMemberCount,
    PushRulesEvent,
    PushSetTweak,
)
from nio.responses import (
    DeletePushRuleResponse,
    EnablePushRuleResponse,
    LogoutResponse,
    SetPushRuleActionsResponse,
    SetPushRuleResponse,
)


async def rules(client):
    """Returns the rules in the server's JSON. nio itself reads rules only from a sync."""
    path = f"/_matrix/client/v3/pushrules/global/?access_token={client.access_token}"
    response = await client.send("GET", path)
    assert response.status == 200, await response.text()
    return json.loads(await response.text())


def user_rule_ids(ruleset, kind):
    return [rule["rule_id"] for rule in ruleset[kind] if not rule["default"]]


async def parsed_rules(client):
    """Returns the rules as nio parses them."""
    path = f"/_matrix/client/v3/user/{client.user_id}/account_data/m.push_rules"
    response = await client.send("GET", f"{path}?access_token={client.access_token}")
    content = json.loads(await response.text())
    event = PushRulesEvent.from_dict({"type": "m.push_rules", "content": content})
    assert isinstance(event, PushRulesEvent), event
    return event.global_rules


async def put_timed(client, path, body):
    """Sends a PUT with `until`, which nio does not know. Returns the status."""
    path = f"/_matrix/client/v3/pushrules/global/{path}?access_token={client.access_token}"
    response = await client.send("PUT", path, json.dumps(body))
    return response.status


async def check_timed_rules(client):
    def after(seconds):
        return int((time.time() + seconds) * 1000)

    async def is_muted():
        return "!kitchen:x" in [rule.id for rule in (await parsed_rules(client)).room]

    async def is_paused():
        return (await parsed_rules(client)).override[0].enabled

    assert not await is_muted() and not await is_paused()
    for path, body, is_active in [
        ("room/!kitchen:x", {"actions": []}, is_muted),
        ("override/.m.rule.master/enabled", {"enabled": True}, is_paused),
    ]:
        assert await put_timed(client, path, {**body, "until": after(3600)}) == 200
        assert await is_active()
        # The server rejects a time in the past, which happens if this machine was suspended.
        until = after(0.3)
        while await put_timed(client, path, {**body, "until": until}) != 200:
            until = after(0.3)
        while await is_active():
            await asyncio.sleep(0.05)
        assert after(0) >= until


async def main(url, user, password):
    client = AsyncClient(url, user)
    try:
        assert isinstance(await client.login(password), LoginResponse)
        who = await client.whoami()
        assert isinstance(who, WhoamiResponse) and who.user_id == user, who

        sound = PushSetTweak("sound", "default")
        for rule, place in [("tea", {}), ("cake", {}), ("pie", {"after": "cake"})]:
            response = await client.set_pushrule(
                "global", PushRuleKind.content, rule, pattern=rule, actions=[PushNotify(), sound], **place
            )
            assert isinstance(response, SetPushRuleResponse), response
        assert user_rule_ids(await rules(client), "content") == ["cake", "pie", "tea"]

        response = await client.set_pushrule(
            "global", PushRuleKind.content, "tea", before="cake", pattern="tea*", actions=[PushNotify()]
        )
        assert isinstance(response, SetPushRuleResponse), response
        content = (await rules(client))["content"]
        assert user_rule_ids({"content": content}, "content") == ["tea", "cake", "pie"]
        assert content[0]["pattern"] == "tea*" and content[0]["actions"] == ["notify"], content[0]

        conditions = [PushEventMatch("type", "m.room.message"), PushRoomMemberCount(2, "<=")]
        response = await client.set_pushrule(
            "global", PushRuleKind.override, "small rooms", conditions=conditions, actions=[]
        )
        assert isinstance(response, SetPushRuleResponse), response
        override = (await rules(client))["override"]
        assert override[0]["rule_id"] == ".m.rule.master", override[0]
        assert override[1]["conditions"] == [
            {"kind": "event_match", "key": "type", "pattern": "m.room.message"},
            {"kind": "room_member_count", "is": "<=2"},
        ], override[1]

        response = await client.enable_pushrule("global", PushRuleKind.content, "cake", False)
        assert isinstance(response, EnablePushRuleResponse), response
        response = await client.set_pushrule_actions(
            "global", PushRuleKind.content, "pie", [PushNotify(), PushSetTweak("highlight", True)]
        )
        assert isinstance(response, SetPushRuleActionsResponse), response
        response = await client.delete_pushrule("global", PushRuleKind.content, "tea")
        assert isinstance(response, DeletePushRuleResponse), response
        content = (await rules(client))["content"]
        assert user_rule_ids({"content": content}, "content") == ["cake", "pie"]
        assert content[0]["enabled"] is False
        assert content[1]["actions"] == ["notify", {"set_tweak": "highlight", "value": True}]

        second_delete = await client.delete_pushrule("global", PushRuleKind.content, "tea")
        assert second_delete.status_code == "M_NOT_FOUND", second_delete
        unknown_neighbour = await client.set_pushrule(
            "global", PushRuleKind.content, "x", before="nobody", pattern="x", actions=[]
        )
        assert unknown_neighbour.status_code == "M_UNKNOWN", unknown_neighbour

        await asyncio.wait_for(check_timed_rules(client), timeout=60)

        assert isinstance(await client.logout(), LogoutResponse)
    finally:
        await client.close()
    print("matrix-nio succeeded")


asyncio.run(main(*sys.argv[1:]))
