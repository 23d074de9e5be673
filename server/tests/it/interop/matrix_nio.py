"""Signs in and manages push rules with unmodified matrix-nio. Arguments: server URL, user ID,
password."""

import asyncio
import json
import sys

from nio import AsyncClient, LoginResponse, WhoamiResponse
from nio.api import PushRuleKind
from nio.events import PushEventMatch, PushNotify, PushSetTweak, PushRoomMemberCount
from nio.responses import (
    DeletePushRuleResponse,
    EnablePushRuleResponse,
    LogoutResponse,
    SetPushRuleActionsResponse,
    SetPushRuleResponse,
)


async def rules(client):
    """The rules in the server's JSON. nio itself reads rules only from a sync."""
    path = f"/_matrix/client/v3/pushrules/global/?access_token={client.access_token}"
    answer = await client.send("GET", path)
    assert answer.status == 200, await answer.text()
    return json.loads(await answer.text())


def own(ruleset, kind):
    return [rule["rule_id"] for rule in ruleset[kind] if not rule["default"]]


async def main(url, user, password):
    client = AsyncClient(url, user)
    try:
        assert isinstance(await client.login(password), LoginResponse)
        who = await client.whoami()
        assert isinstance(who, WhoamiResponse) and who.user_id == user, who

        sound = PushSetTweak("sound", "default")
        for rule, place in [("tea", {}), ("cake", {}), ("pie", {"after": "cake"})]:
            answer = await client.set_pushrule(
                "global", PushRuleKind.content, rule, pattern=rule, actions=[PushNotify(), sound], **place
            )
            assert isinstance(answer, SetPushRuleResponse), answer
        assert own(await rules(client), "content") == ["cake", "pie", "tea"]

        answer = await client.set_pushrule(
            "global", PushRuleKind.content, "tea", before="cake", pattern="tea*", actions=[PushNotify()]
        )
        assert isinstance(answer, SetPushRuleResponse), answer
        content = (await rules(client))["content"]
        assert own({"content": content}, "content") == ["tea", "cake", "pie"]
        assert content[0]["pattern"] == "tea*" and content[0]["actions"] == ["notify"], content[0]

        conditions = [PushEventMatch("type", "m.room.message"), PushRoomMemberCount(2, "<=")]
        answer = await client.set_pushrule(
            "global", PushRuleKind.override, "small rooms", conditions=conditions, actions=[]
        )
        assert isinstance(answer, SetPushRuleResponse), answer
        override = (await rules(client))["override"]
        assert override[0]["rule_id"] == ".m.rule.master", override[0]
        assert override[1]["conditions"] == [
            {"kind": "event_match", "key": "type", "pattern": "m.room.message"},
            {"kind": "room_member_count", "is": "<=2"},
        ], override[1]

        answer = await client.enable_pushrule("global", PushRuleKind.content, "cake", False)
        assert isinstance(answer, EnablePushRuleResponse), answer
        answer = await client.set_pushrule_actions(
            "global", PushRuleKind.content, "pie", [PushNotify(), PushSetTweak("highlight", True)]
        )
        assert isinstance(answer, SetPushRuleActionsResponse), answer
        answer = await client.delete_pushrule("global", PushRuleKind.content, "tea")
        assert isinstance(answer, DeletePushRuleResponse), answer
        content = (await rules(client))["content"]
        assert own({"content": content}, "content") == ["cake", "pie"]
        assert content[0]["enabled"] is False
        assert content[1]["actions"] == ["notify", {"set_tweak": "highlight", "value": True}]

        gone = await client.delete_pushrule("global", PushRuleKind.content, "tea")
        assert gone.status_code == "M_NOT_FOUND", gone
        lost = await client.set_pushrule(
            "global", PushRuleKind.content, "x", before="nobody", pattern="x", actions=[]
        )
        assert lost.status_code == "M_UNKNOWN", lost

        assert isinstance(await client.logout(), LogoutResponse)
    finally:
        await client.close()
    print("matrix-nio is content")


asyncio.run(main(*sys.argv[1:]))
