import asyncio
import time
import uuid

from scenarios_activities import greet
from stage import AT_ONCE, SECOND, Stage, cause, eventually, expect, expect_error, expect_result, scenario, workflow
from temporalio import workflow as sdk_workflow
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import WorkflowExecutionStatus
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError, CancelledError, TerminatedError, TimeoutError, WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode


@workflow
class Timers:
    """Lets one fire, cancels another, and gives up on a condition."""

    @sdk_workflow.run
    async def run(self) -> str:
        long = asyncio.create_task(asyncio.sleep(3600))
        await asyncio.sleep(0.01)
        long.cancel()
        try:
            await sdk_workflow.wait_condition(lambda: False, timeout=0.01)
        except asyncio.TimeoutError:
            return "gave up"
        return "came true"


@workflow
class CleanUp:
    """Runs an activity once it has been canceled."""

    @sdk_workflow.run
    async def run(self) -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            await sdk_workflow.execute_activity(greet, "cleaner", start_to_close_timeout=60 * SECOND)
            raise


@workflow
class CountDown:
    @sdk_workflow.run
    async def run(self, left: int) -> str:
        if left > 0:
            sdk_workflow.continue_as_new(left - 1)
        return sdk_workflow.info().continued_run_id or ""


@workflow
class SecondTry:
    @sdk_workflow.run
    async def run(self) -> int:
        attempt = sdk_workflow.info().attempt
        if attempt == 1:
            raise ApplicationError("not yet")
        return attempt


@workflow
class Tick:
    """Ends at once when it runs for the first time, and knows in the next run what that one said."""

    def __init__(self) -> None:
        self._last = 0

    @sdk_workflow.query
    def last(self) -> int:
        return self._last

    @sdk_workflow.run
    async def run(self) -> int:
        if sdk_workflow.has_last_completion_result():
            self._last = sdk_workflow.get_last_completion_result(int) or 0
            await asyncio.sleep(3600)
        return 7


@workflow
class SleepLong:
    @sdk_workflow.run
    async def run(self) -> None:
        await asyncio.sleep(3600)


@workflow
class Once:
    """Ends when it is told to."""

    def __init__(self) -> None:
        self._told = False

    @sdk_workflow.signal
    def go(self) -> None:
        self._told = True

    @sdk_workflow.run
    async def run(self) -> str:
        await sdk_workflow.wait_condition(lambda: self._told)
        return "done"


@scenario("timers fire and are canceled")
async def _(stage: Stage) -> None:
    handle = await stage.start(Timers.run)
    await expect_result(handle, "gave up")
    expect("canceled timers", len(await stage.events(handle, "TIMER_CANCELED")), 1)


@scenario("a workflow is canceled, and cleans up before it ends")
async def _(stage: Stage) -> None:
    handle = await stage.start(CleanUp.run)
    await stage.idle(handle)
    await handle.cancel()
    await expect_error(CancelledError, handle.result(), cause)
    expect("activities", len(await stage.events(handle, "ACTIVITY_TASK_COMPLETED")), 1)


@scenario("a workflow is terminated, once")
async def _(stage: Stage) -> None:
    handle = await stage.start(SleepLong.run)
    await handle.terminate("details", reason="enough")
    await expect_error(TerminatedError, handle.result(), cause)
    again = await expect_error(RPCError, handle.terminate(reason="again"))
    expect("status", again.status, RPCStatusCode.NOT_FOUND)


@scenario("a workflow that times out ends")
async def _(stage: Stage) -> None:
    await expect_error(TimeoutError, (await stage.start(SleepLong.run, run_timeout=SECOND)).result(), cause)


@scenario("a start delay holds a workflow back")
async def _(stage: Stage) -> None:
    begun = time.monotonic()
    await expect_result(await stage.start(CountDown.run, 0, start_delay=SECOND), "")
    expect("late enough", time.monotonic() - begun >= 1, True)


@scenario("continue as new: a chain of runs with one result")
async def _(stage: Stage) -> None:
    handle = await stage.start(CountDown.run, 3)
    before = await handle.result()
    last = (await stage.handle(handle.id).describe()).raw_description.workflow_execution_info
    expect("first run", last.first_run_id, handle.first_execution_run_id)
    expect("has a run before", before not in ("", last.execution.run_id), True)


@scenario("a workflow is retried until it completes, and its client gets the result of the last run")
async def _(stage: Stage) -> None:
    await expect_result(await stage.start(SecondTry.run, retry_policy=AT_ONCE), 2)


@scenario("a cron schedule runs a workflow again, with its last result, until it is canceled")
async def _(stage: Stage) -> None:
    handle = await stage.start(Tick.run, cron_schedule="@every 1s")

    async def knows_the_last_run() -> bool:
        try:
            return await stage.handle(handle.id).query(Tick.last) == 7
        except RPCError:
            return False

    await eventually("the second run", knows_the_last_run)
    await stage.handle(handle.id).cancel()
    await expect_error(CancelledError, stage.handle(handle.id).result(), cause)


@scenario("id policies: the id of a running workflow is refused, joined or taken over; that of a closed one is refused or used again")
async def _(stage: Stage) -> None:
    conflict, reuse = WorkflowIDConflictPolicy, WorkflowIDReusePolicy
    named = {"id": stage.name("once")}
    first = await stage.start(Once.run, **named)
    await expect_error(WorkflowAlreadyStartedError, stage.start(Once.run, **named, id_conflict_policy=conflict.FAIL))
    shared = await stage.start(Once.run, **named, id_conflict_policy=conflict.USE_EXISTING)
    expect("shared run", shared.result_run_id, first.result_run_id)
    second = await stage.start(Once.run, **named, id_conflict_policy=conflict.TERMINATE_EXISTING)
    ended = await stage.handle(first.id, first.result_run_id).describe()
    expect("first run", ended.status, WorkflowExecutionStatus.TERMINATED)
    await second.signal(Once.go)
    await expect_result(second, "done")
    for policy in (reuse.REJECT_DUPLICATE, reuse.ALLOW_DUPLICATE_FAILED_ONLY):
        await expect_error(WorkflowAlreadyStartedError, stage.start(Once.run, **named, id_reuse_policy=policy))
    third = await stage.start(Once.run, **named, id_reuse_policy=reuse.ALLOW_DUPLICATE, start_signal="go")
    await expect_result(third, "done")


@scenario("a closed workflow is reset to its first task, and gets its signals again")
async def _(stage: Stage) -> None:
    handle = await stage.start(Once.run)
    await stage.idle(handle)
    await handle.signal(Once.go)
    await expect_result(handle, "done")
    execution = stage.execution(handle)
    answer = await stage.client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=execution["namespace"],
            workflow_execution=execution["execution"],
            reason="once more",
            request_id=str(uuid.uuid4()),
            workflow_task_finish_event_id=4,
        )
    )
    following = stage.handle(handle.id, answer.run_id)
    stage.remember(following)
    await expect_result(following, "done")
    expect("reset tasks", len(await stage.events(following, "WORKFLOW_TASK_FAILED")), 1)
