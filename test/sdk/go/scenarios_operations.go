package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/sdk/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

var operationWorkflows = []any{describeYourself, explainYourself}

var (
	keyword = temporal.NewSearchAttributeKeyKeyword("SdkKeyword")
	number  = temporal.NewSearchAttributeKeyInt64("SdkInt")
)

func describeYourself(ctx workflow.Context) error {
	return errors.Join(
		workflow.UpsertTypedSearchAttributes(ctx, number.ValueSet(7)),
		workflow.UpsertMemo(ctx, map[string]any{"second": "later", "first": nil}),
	)
}

// explainYourself says in words what it does, and waits until it may end.
func explainYourself(ctx workflow.Context) error {
	workflow.SetCurrentDetails(ctx, "waiting for the word")
	timer := workflow.NewTimerWithOptions(ctx, time.Hour, workflow.TimerOptions{Summary: "no longer than this"})
	selector := workflow.NewSelector(ctx)
	selector.AddFuture(timer, func(workflow.Future) {})
	selector.AddReceive(workflow.GetSignalChannel(ctx, "go"), func(c workflow.ReceiveChannel, _ bool) { c.Receive(ctx, nil) })
	selector.Select(ctx)
	return nil
}

func (s *stage) listed(ctx context.Context, query string) int {
	answer := must(s.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: s.namespace, Query: query}))
	return len(answer.GetExecutions())
}

// schedule creates one that is due every hour, and goes away with its scenario.
func (s *stage) schedule(ctx context.Context, paused bool) client.ScheduleHandle {
	return must(s.client.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID:   s.name("schedule"),
		Spec: client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: time.Hour}}},
		Action: &client.ScheduleWorkflowAction{
			ID: s.name("scheduled"), Workflow: doubled, Args: []any{4}, TaskQueue: s.taskQueue,
		},
		Overlap: enums.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL,
		Paused:  paused,
		Memo:    map[string]any{"why": "a scenario"},
	}))
}

// acted waits until a schedule has started so many workflows and none of them runs any more.
func (s *stage) acted(ctx context.Context, schedule client.ScheduleHandle, times int) client.ScheduleInfo {
	var info client.ScheduleInfo
	eventually(ctx, fmt.Sprint(times, " actions"), func() bool {
		info = must(schedule.Describe(ctx)).Info
		return info.NumActions == times && len(info.RunningWorkflows) == 0
	})
	return info
}

var operationScenarios = []scenario{
	{"search attributes and memo: started with, changed, described, listed and counted", func(ctx context.Context, s *stage) {
		run := s.startWith(ctx, client.StartWorkflowOptions{
			Memo:                  map[string]any{"first": "sooner"},
			TypedSearchAttributes: temporal.NewSearchAttributes(keyword.ValueSet(s.id)),
		}, describeYourself)
		check(run.Get(ctx, nil))
		info := s.describe(ctx, run).GetWorkflowExecutionInfo()
		fields := info.GetMemo().GetFields()
		var second string
		check(converter.GetDefaultDataConverter().FromPayload(fields["second"], &second))
		expect("memo", []any{len(fields), second}, []any{1, "later"})
		query := fmt.Sprintf("SdkKeyword = '%s' AND SdkInt = 7 AND ExecutionStatus = 'Completed'", s.id)
		eventually(ctx, "a list with it", func() bool { return s.listed(ctx, query) == 1 })
		counted := must(s.client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: s.namespace, Query: query}))
		expect("count", counted.GetCount(), int64(1))
	}},
	{"summary, details and current details are shown", func(ctx context.Context, s *stage) {
		run := s.startWith(ctx, client.StartWorkflowOptions{StaticSummary: "in short", StaticDetails: "at length"}, explainYourself)
		description := must(s.client.DescribeWorkflow(ctx, run.GetID(), run.GetRunID()))
		expect("summary", must(description.GetStaticSummary()), "in short")
		expect("details", must(description.GetStaticDetails()), "at length")
		var metadata sdk.WorkflowMetadata
		check(must(s.client.QueryWorkflow(ctx, run.GetID(), "", "__temporal_workflow_metadata")).Get(&metadata))
		expect("current details", metadata.GetCurrentDetails(), "waiting for the word")
		started := s.eventsOf(ctx, run, enums.EVENT_TYPE_TIMER_STARTED)[0]
		var summary string
		check(converter.GetDefaultDataConverter().FromPayload(started.GetUserMetadata().GetSummary(), &summary))
		expect("timer", summary, "no longer than this")
		s.signal(ctx, run, "go", nil)
		check(run.Get(ctx, nil))
	}},
	{"a schedule is triggered, and its workflow runs", func(ctx context.Context, s *stage) {
		schedule := s.schedule(ctx, false)
		defer func() { check(schedule.Delete(ctx)) }()
		check(schedule.Trigger(ctx, client.ScheduleTriggerOptions{}))
		action := s.acted(ctx, schedule, 1).RecentActions[0].StartWorkflowResult
		expectResult(ctx, s.client.GetWorkflow(ctx, action.WorkflowID, ""), 8)
	}},
	{"a schedule is backfilled for past times", func(ctx context.Context, s *stage) {
		schedule := s.schedule(ctx, true)
		defer func() { check(schedule.Delete(ctx)) }()
		begin := time.Date(2024, 1, 1, 0, 30, 0, 0, time.UTC)
		check(schedule.Backfill(ctx, client.ScheduleBackfillOptions{Backfill: []client.ScheduleBackfill{{
			Start: begin, End: begin.Add(3 * time.Hour), Overlap: enums.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL,
		}}}))
		var hours []int
		for _, action := range s.acted(ctx, schedule, 3).RecentActions {
			hours = append(hours, action.ScheduleTime.UTC().Hour())
		}
		expect("hours", hours, []int{1, 2, 3})
	}},
	{"a schedule is paused, unpaused, changed, listed and deleted", func(ctx context.Context, s *stage) {
		schedule := s.schedule(ctx, false)
		check(schedule.Pause(ctx, client.SchedulePauseOptions{Note: "holidays"}))
		state := must(schedule.Describe(ctx)).Schedule.State
		expect("paused", []any{state.Paused, state.Note}, []any{true, "holidays"})
		check(schedule.Unpause(ctx, client.ScheduleUnpauseOptions{Note: "back"}))
		check(schedule.Update(ctx, client.ScheduleUpdateOptions{DoUpdate: func(input client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			changed := input.Description.Schedule
			changed.Spec.Intervals = []client.ScheduleIntervalSpec{{Every: 2 * time.Hour}}
			return &client.ScheduleUpdate{Schedule: &changed}, nil
		}}))
		description := must(schedule.Describe(ctx))
		next := description.Info.NextActionTimes
		expect("between two actions", next[1].Sub(next[0]), 2*time.Hour)
		expect("state", []any{description.Schedule.State.Paused, description.Schedule.State.Note}, []any{false, "back"})
		eventually(ctx, "a list with it", func() bool {
			all := must(s.client.ScheduleClient().List(ctx, client.ScheduleListOptions{PageSize: 100}))
			for all.HasNext() {
				if must(all.Next()).ID == schedule.GetID() {
					return true
				}
			}
			return false
		})
		check(schedule.Delete(ctx))
		_, err := schedule.Describe(ctx)
		expectError[*serviceerror.NotFound](err)
	}},
}
