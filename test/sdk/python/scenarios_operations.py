from datetime import datetime, timedelta, timezone

from scenarios_children import Doubled
from stage import HOUR, Stage, eventually, expect, expect_error, expect_result, scenario, workflow
from temporalio import workflow as sdk_workflow
from temporalio.api.sdk.v1 import WorkflowMetadata
from temporalio.client import (
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleBackfill,
    ScheduleHandle,
    ScheduleInfo,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
    ScheduleState,
    ScheduleUpdate,
    ScheduleUpdateInput,
)
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes
from temporalio.converter import default
from temporalio.service import RPCError, RPCStatusCode

KEYWORD = SearchAttributeKey.for_keyword("SdkKeyword")
NUMBER = SearchAttributeKey.for_int("SdkInt")


@workflow
class DescribeYourself:
    @sdk_workflow.run
    async def run(self) -> None:
        sdk_workflow.upsert_search_attributes([NUMBER.value_set(7)])
        sdk_workflow.upsert_memo({"second": "later", "first": None})


@workflow
class ExplainYourself:
    """Says in words what it does, and waits until it may end."""

    def __init__(self) -> None:
        self._told = False

    @sdk_workflow.signal
    def go(self) -> None:
        self._told = True

    @sdk_workflow.run
    async def run(self) -> None:
        sdk_workflow.set_current_details("waiting for the word")
        await sdk_workflow.wait_condition(lambda: self._told, timeout=HOUR, timeout_summary="no longer than this")


async def new_schedule(stage: Stage, paused: bool = False) -> ScheduleHandle:
    """One that is due every hour."""
    action = ScheduleActionStartWorkflow(Doubled.run, 4, id=stage.name("scheduled"), task_queue=stage.task_queue)
    schedule = Schedule(
        action=action,
        spec=ScheduleSpec(intervals=[ScheduleIntervalSpec(every=HOUR)]),
        policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.ALLOW_ALL),
        state=ScheduleState(paused=paused),
    )
    return await stage.client.create_schedule(stage.name("schedule"), schedule, memo={"why": "a scenario"})


async def acted(schedule: ScheduleHandle, times: int) -> ScheduleInfo:
    """Waits until it has started so many workflows and none of them runs any more."""

    async def found() -> ScheduleInfo | None:
        info = (await schedule.describe()).info
        return info if info.num_actions == times and not info.running_actions else None

    return await eventually(f"{times} actions", found)


@scenario("search attributes and memo: started with, changed, described, listed and counted")
async def _(stage: Stage) -> None:
    attributes = TypedSearchAttributes([SearchAttributePair(KEYWORD, stage.id)])
    handle = await stage.start(DescribeYourself.run, memo={"first": "sooner"}, search_attributes=attributes)
    await handle.result()
    description = await handle.describe()
    expect("memo", await description.memo(), {"second": "later"})
    found = description.typed_search_attributes
    expect("attributes", (found[KEYWORD], found[NUMBER]), (stage.id, 7))
    query = f"SdkKeyword = '{stage.id}' AND SdkInt = 7 AND ExecutionStatus = 'Completed'"

    async def is_listed() -> bool:
        return [each.id async for each in stage.client.list_workflows(query)] == [handle.id]

    await eventually("a list with it", is_listed)
    expect("count", (await stage.client.count_workflows(query)).count, 1)


@scenario("summary, details and current details are shown")
async def _(stage: Stage) -> None:
    handle = await stage.start(ExplainYourself.run, static_summary="in short", static_details="at length")
    description = await handle.describe()
    expect("summary", await description.static_summary(), "in short")
    expect("details", await description.static_details(), "at length")
    metadata = await handle.query("__temporal_workflow_metadata", result_type=WorkflowMetadata)
    expect("current details", metadata.current_details, "waiting for the word")
    [started] = await stage.events(handle, "TIMER_STARTED")
    expect("timer", (await default().decode([started.user_metadata.summary]))[0], "no longer than this")
    await handle.signal(ExplainYourself.go)
    await handle.result()


@scenario("a schedule is triggered, and its workflow runs")
async def _(stage: Stage) -> None:
    schedule = await new_schedule(stage)
    await schedule.trigger()
    [action] = (await acted(schedule, 1)).recent_actions
    await expect_result(stage.handle(action.action.workflow_id), 8)
    await schedule.delete()


@scenario("a schedule is backfilled for past times")
async def _(stage: Stage) -> None:
    schedule = await new_schedule(stage, paused=True)
    begin = datetime(2024, 1, 1, 0, 30, tzinfo=timezone.utc)
    await schedule.backfill(ScheduleBackfill(begin, begin + timedelta(hours=3), overlap=ScheduleOverlapPolicy.ALLOW_ALL))
    actions = (await acted(schedule, 3)).recent_actions
    expect("hours", [action.scheduled_at.hour for action in actions], [1, 2, 3])
    await schedule.delete()


@scenario("a schedule is paused, unpaused, changed, listed and deleted")
async def _(stage: Stage) -> None:
    schedule = await new_schedule(stage)
    await expect_error(ScheduleAlreadyRunningError, new_schedule(stage))
    await schedule.pause(note="holidays")
    state = (await schedule.describe()).schedule.state
    expect("paused", (state.paused, state.note), (True, "holidays"))
    await schedule.unpause(note="back")

    async def every_other_hour(input: ScheduleUpdateInput) -> ScheduleUpdate:
        changed = input.description.schedule
        changed.spec.intervals = [ScheduleIntervalSpec(every=2 * HOUR)]
        return ScheduleUpdate(schedule=changed)

    await schedule.update(every_other_hour)
    description = await schedule.describe()
    soon, later = description.info.next_action_times[:2]
    expect("between two actions", later - soon, 2 * HOUR)
    expect("state", (description.schedule.state.paused, description.schedule.state.note), (False, "back"))

    async def is_listed() -> bool:
        return schedule.id in [each.id async for each in await stage.client.list_schedules(page_size=100)]

    await eventually("a list with it", is_listed)
    await schedule.delete()
    gone = await expect_error(RPCError, schedule.describe())
    expect("status", gone.status, RPCStatusCode.NOT_FOUND)
