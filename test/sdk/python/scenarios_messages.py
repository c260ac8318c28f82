from scenarios_lives import CleanUp
from stage import Stage, cause, expect, expect_error, expect_result, scenario, workflow
from temporalio import workflow as sdk_workflow
from temporalio.client import WorkflowQueryFailedError, WorkflowQueryRejectedError
from temporalio.common import QueryRejectCondition
from temporalio.exceptions import ApplicationError, CancelledError
from temporalio.service import RPCError, RPCStatusCode


@workflow
class Collect:
    """Waits for so many signals, and shows what came so far."""

    def __init__(self) -> None:
        self._values: list[str] = []

    @sdk_workflow.run
    async def run(self, wanted: int) -> list[str]:
        await sdk_workflow.wait_condition(lambda: len(self._values) >= wanted)
        return self._values

    @sdk_workflow.signal
    def go(self, value: str) -> None:
        self._values.append(value)

    @sdk_workflow.query
    def seen(self) -> list[str]:
        return self._values

    @sdk_workflow.query
    def broken(self) -> str:
        raise RuntimeError("no answer")


@workflow
class Tell:
    """Signals one workflow, cancels another, and signals one that is not there."""

    @sdk_workflow.run
    async def run(self, signaled: str, canceled: str, missing: str) -> str:
        await sdk_workflow.get_external_workflow_handle(signaled).signal(Collect.go, "from outside")
        await sdk_workflow.get_external_workflow_handle(canceled).cancel()
        try:
            await sdk_workflow.get_external_workflow_handle(missing).signal(Collect.go, "")
        except ApplicationError as error:
            return error.message
        return "a workflow that is not there was signaled"


@scenario("signals reach the workflow in order, and a query sees each that was acknowledged")
async def _(stage: Stage) -> None:
    handle = await stage.start(Collect.run, 12)
    wanted = []
    for n in range(12):
        wanted.append(str(n))
        await handle.signal(Collect.go, str(n))
        if n == 5:
            expect("seen", await handle.query(Collect.seen), wanted)
    await expect_result(handle, wanted)


@scenario("a failing or unknown query leaves the workflow alone")
async def _(stage: Stage) -> None:
    handle = await stage.start(Collect.run, 1)
    failed = await expect_error(WorkflowQueryFailedError, handle.query(Collect.broken))
    expect("failed", str(failed), "no answer")
    unknown = await expect_error(WorkflowQueryFailedError, handle.query("strange"))
    expect("unknown", "'strange'" in str(unknown), True)
    expect("failed tasks", len(await stage.events(handle, "WORKFLOW_TASK_FAILED")), 0)
    await handle.signal(Collect.go, "one")
    await expect_result(handle, ["one"])


@scenario("a closed workflow answers queries, unless the caller rejects that")
async def _(stage: Stage) -> None:
    handle = await stage.start(Collect.run, 0)
    await expect_result(handle, [])
    expect("seen", await handle.query(Collect.seen), [])
    asked = handle.query(Collect.seen, reject_condition=QueryRejectCondition.NOT_OPEN)
    await expect_error(WorkflowQueryRejectedError, asked)


@scenario("signal with start starts a workflow, and then only signals it")
async def _(stage: Stage) -> None:
    options = {"id": stage.name("signaled"), "start_signal": "go"}
    first = await stage.start(Collect.run, 2, **options, start_signal_args=["one"])
    again = await stage.start(Collect.run, 2, **options, start_signal_args=["two"])
    expect("run", again.result_run_id, first.result_run_id)
    await expect_result(first, ["one", "two"])


@scenario("a workflow signals and cancels others, and learns of one that does not exist")
async def _(stage: Stage) -> None:
    signaled, canceled = await stage.start(Collect.run, 1), await stage.start(CleanUp.run)
    await stage.idle(canceled)
    teller = await stage.start(Tell.run, signaled.id, canceled.id, stage.name("missing"))
    expect("answer", "not found" in await teller.result(), True)
    await expect_result(signaled, ["from outside"])
    await expect_error(CancelledError, canceled.result(), cause)


@scenario("a signal to a workflow that is closed or unknown is refused")
async def _(stage: Stage) -> None:
    closed = await stage.start(Collect.run, 0)
    await closed.result()
    for handle in (closed, stage.handle(stage.name("unknown"))):
        refused = await expect_error(RPCError, handle.signal(Collect.go, "late"))
        expect("status", refused.status, RPCStatusCode.NOT_FOUND)
