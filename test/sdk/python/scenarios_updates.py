import asyncio

from stage import Stage, cause, expect, expect_error, expect_result, scenario, workflow
from temporalio import workflow as sdk_workflow
from temporalio.client import WithStartWorkflowOperation, WorkflowUpdateStage
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.exceptions import ApplicationError

AT_ONCE = 10
"""As many updates as one workflow takes at once."""


@workflow
class Account:
    """Takes deposits until it is told to close; a settlement waits for a signal."""

    def __init__(self) -> None:
        self._balance = 0
        self._closed = False
        self._settled = False

    @sdk_workflow.run
    async def run(self) -> int:
        await sdk_workflow.wait_condition(lambda: self._closed and sdk_workflow.all_handlers_finished())
        return self._balance

    @sdk_workflow.update
    async def deposit(self, amount: int) -> int:
        self._balance += amount
        return self._balance

    @deposit.validator
    def positive(self, amount: int) -> None:
        if amount <= 0:
            raise ValueError("a deposit is more than nothing")

    @sdk_workflow.update
    async def settle(self) -> str:
        await sdk_workflow.wait_condition(lambda: self._settled)
        return "settled"

    @sdk_workflow.signal
    def settled(self) -> None:
        self._settled = True

    @sdk_workflow.update
    async def withdraw(self) -> None:
        raise ApplicationError("overdrawn", type="Overdrawn")

    @sdk_workflow.update
    async def close(self) -> None:
        self._closed = True


@scenario("updates are answered, and are in the history")
async def _(stage: Stage) -> None:
    handle = await stage.start(Account.run)
    for n in range(1, 4):
        expect("balance", await handle.execute_update(Account.deposit, 10), 10 * n)
    await handle.execute_update(Account.close)
    await expect_result(handle, 30)
    expect("completed updates", len(await stage.events(handle, "WORKFLOW_EXECUTION_UPDATE_COMPLETED")), 4)


@scenario("an update that the validator rejects leaves no trace")
async def _(stage: Stage) -> None:
    handle = await stage.start(Account.run)
    await stage.idle(handle)
    before = len(await stage.history(handle))
    rejected = await expect_error(ApplicationError, handle.execute_update(Account.deposit, 0), cause)
    expect("message", rejected.message, "a deposit is more than nothing")
    expect("events", len(await stage.history(handle)), before)
    await handle.execute_update(Account.close)
    await expect_result(handle, 0)


@scenario("an update whose handler fails, or that is unknown, is a failure for its caller only")
async def _(stage: Stage) -> None:
    handle = await stage.start(Account.run)
    failed = await expect_error(ApplicationError, handle.execute_update(Account.withdraw), cause)
    expect("type", failed.type, "Overdrawn")
    await expect_error(ApplicationError, handle.execute_update("rob"), cause)
    await handle.execute_update(Account.close)
    await expect_result(handle, 0)


@scenario("an update is accepted first and completed later, and found again by its id")
async def _(stage: Stage) -> None:
    handle = await stage.start(Account.run)
    id = stage.name("settlement")
    accepted = await handle.start_update(Account.settle, wait_for_stage=WorkflowUpdateStage.ACCEPTED, id=id)
    expect("accepted", len(await stage.events(handle, "WORKFLOW_EXECUTION_UPDATE_ACCEPTED")), 1)
    await handle.signal(Account.settled)
    for update in (accepted, handle.get_update_handle(id)):
        expect("answer", await update.result(), "settled")
    await handle.execute_update(Account.close)
    await expect_result(handle, 0)


@scenario("update with start starts a workflow, or finds it")
async def _(stage: Stage) -> None:
    for n in (1, 2):
        operation = WithStartWorkflowOperation(
            Account.run,
            id=stage.name("account"),
            task_queue=stage.task_queue,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        )
        balance = await stage.client.execute_update_with_start_workflow(Account.deposit, 5, start_workflow_operation=operation)
        expect("balance", balance, 5 * n)
    handle = await operation.workflow_handle()
    stage.remember(handle)
    await handle.execute_update(Account.close)
    await expect_result(handle, 10)


@scenario("many updates at once are all answered, each once")
async def _(stage: Stage) -> None:
    handle = await stage.start(Account.run)
    balances = await asyncio.gather(*(handle.execute_update(Account.deposit, 1) for _ in range(AT_ONCE)))
    expect("balances", sorted(balances), list(range(1, AT_ONCE + 1)))
    await handle.execute_update(Account.close)
    await expect_result(handle, AT_ONCE)
