from scenarios_lives import CleanUp, Once
from stage import Stage, cause, eventually, expect, expect_result, scenario, workflow
from temporalio import workflow as sdk_workflow
from temporalio.client import WorkflowExecutionStatus
from temporalio.exceptions import ApplicationError, CancelledError, ChildWorkflowError, WorkflowAlreadyStartedError
from temporalio.workflow import ChildWorkflowCancellationType, ParentClosePolicy, execute_child_workflow, start_child_workflow


@workflow
class Doubled:
    @sdk_workflow.run
    async def run(self, number: int) -> int:
        return 2 * number


@workflow
class Failing:
    @sdk_workflow.run
    async def run(self) -> None:
        raise ApplicationError("grounded", type="Grounded")


@workflow
class Family:
    """Has one child that completes, one that fails, and one that starts under an id that is taken."""

    @sdk_workflow.run
    async def run(self) -> str:
        id = sdk_workflow.info().workflow_id
        twice = await execute_child_workflow(Doubled.run, 21, id=f"{id}-doubled")
        try:
            await execute_child_workflow(Failing.run, id=f"{id}-failing")
        except ChildWorkflowError as error:
            assert isinstance(error.cause, ApplicationError)
            kind = error.cause.type
        try:
            await execute_child_workflow(Doubled.run, 1, id=id)
        except WorkflowAlreadyStartedError:
            return f"{twice} {kind}"
        return "the last child started"


@workflow
class LeaveBehind:
    """Ends while its child runs."""

    @sdk_workflow.run
    async def run(self, policy: int) -> str:
        id = f"{sdk_workflow.info().workflow_id}-child"
        await start_child_workflow(Once.run, id=id, parent_close_policy=ParentClosePolicy(policy))
        return id


@workflow
class CancelChild:
    @sdk_workflow.run
    async def run(self) -> bool:
        id = f"{sdk_workflow.info().workflow_id}-child"
        wait = ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED
        child = await start_child_workflow(CleanUp.run, id=id, cancellation_type=wait)
        await child.signal("unheard")
        child.cancel()
        try:
            await child
        except ChildWorkflowError as error:
            return isinstance(error.cause, CancelledError)
        return False


@scenario("children complete, fail, and do not start under an id that is taken")
async def _(stage: Stage) -> None:
    await expect_result(await stage.start(Family.run), "42 Grounded")


@scenario("a parent signals its child, cancels it and waits for it")
async def _(stage: Stage) -> None:
    await expect_result(await stage.start(CancelChild.run), True)


@scenario("close policies: a child is terminated with its parent")
async def _(stage: Stage) -> None:
    child = stage.handle(await (await stage.start(LeaveBehind.run, ParentClosePolicy.TERMINATE)).result())

    async def is_terminated() -> bool:
        return (await child.describe()).status == WorkflowExecutionStatus.TERMINATED

    await eventually("a terminated child", is_terminated)


@scenario("close policies: the cancellation of a child is requested when its parent ends")
async def _(stage: Stage) -> None:
    child = stage.handle(await (await stage.start(LeaveBehind.run, ParentClosePolicy.REQUEST_CANCEL)).result())
    try:
        await child.result()
    except Exception as error:
        expect("cause", type(cause(error)), CancelledError)
        return
    raise AssertionError("the child completed")


@scenario("close policies: an abandoned child continues")
async def _(stage: Stage) -> None:
    child = stage.handle(await (await stage.start(LeaveBehind.run, ParentClosePolicy.ABANDON)).result())
    await child.signal(Once.go)
    await expect_result(child, "done")
