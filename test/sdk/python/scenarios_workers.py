import asyncio

from scenarios_messages import Collect
from stage import Stage, expect, expect_result, new_worker, scenario, workflow
from temporalio import workflow as sdk_workflow
from temporalio.common import SearchAttributeKey


@workflow
class Changed:
    """A workflow that has been changed twice."""

    @sdk_workflow.run
    async def run(self) -> list[bool]:
        patched = []
        for change in ("a-change", "another-change", "a-change"):
            patched.append(sdk_workflow.patched(change))
            await asyncio.sleep(0.001)
        return patched


@workflow
class Deterministic:
    """Draws at random, as its replay must."""

    @sdk_workflow.run
    async def run(self) -> None:
        for _ in range(sdk_workflow.random().randint(1, 4)):
            await asyncio.sleep(0.001 * sdk_workflow.random().randint(1, 9))


broken: set[str] = set()
"""The workflows whose code has an error that is mended after its first task."""


@workflow
class Mend:
    @sdk_workflow.run
    async def run(self) -> str:
        id = sdk_workflow.info().workflow_id
        if id in broken:
            broken.remove(id)
            raise RuntimeError("a bug")
        await asyncio.sleep(0.001)
        return "mended"


@workflow
class WriteMuch:
    """Leaves a history of more than one page."""

    @sdk_workflow.run
    async def run(self) -> int:
        timers = [asyncio.create_task(asyncio.sleep(0.001)) for _ in range(150)]
        await asyncio.gather(*timers)
        return len(timers)


@scenario("patches are markers, and are in a search attribute")
async def _(stage: Stage) -> None:
    handle = await stage.start(Changed.run)
    await expect_result(handle, [True, True, True])
    expect("markers", len(await stage.events(handle, "MARKER_RECORDED")), 2)
    found = (await handle.describe()).typed_search_attributes[SearchAttributeKey.for_keyword_list("TemporalChangeVersion")]
    expect("attribute", sorted(found), ["a-change", "another-change"])


@scenario("random values of a workflow are the same when it is replayed")
async def _(stage: Stage) -> None:
    await (await stage.start(Deterministic.run)).result()


@scenario("a bug in a workflow fails its task, and it continues when the bug is fixed")
async def _(stage: Stage) -> None:
    id = stage.name("broken")
    broken.add(id)
    handle = await stage.start(Mend.run, id=id)
    await expect_result(handle, "mended")
    [failed] = await stage.events(handle, "WORKFLOW_TASK_FAILED")
    expect("message", failed.workflow_task_failed_event_attributes.failure.message, "a bug")


@scenario("a history of several pages is read and replayed")
async def _(stage: Stage) -> None:
    handle = await stage.start(WriteMuch.run)
    await expect_result(handle, 150)
    expect("fired", len(await stage.events(handle, "TIMER_FIRED")), 150)


@scenario("a worker that shuts down hands its workflows to another one")
async def _(stage: Stage) -> None:
    queue = stage.name("handover")
    async with new_worker(stage.client, queue, identity="first"):
        handle = await stage.start(Collect.run, 1, task_queue=queue)
        await stage.idle(handle)
    async with new_worker(stage.client, queue, identity="second"):
        await handle.signal(Collect.go, "one")
        await expect_result(handle, ["one"])
    completed = await stage.events(handle, "WORKFLOW_TASK_COMPLETED")
    identities = [each.workflow_task_completed_event_attributes.identity for each in completed]
    expect("identities", identities, ["first", "second"])
    expect("timed out", len(await stage.events(handle, "WORKFLOW_TASK_TIMED_OUT")), 0)
