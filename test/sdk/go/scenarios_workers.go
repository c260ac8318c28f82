package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

var workerWorkflows = []any{changed, sideEffects, inSession, mend, writeMuch}

// changed is a workflow of which there were two versions.
func changed(ctx workflow.Context) ([]int, error) {
	var versions []int
	for _, change := range []string{"a-change", "another-change", "a-change"} {
		version := workflow.GetVersion(ctx, change, workflow.DefaultVersion, 2)
		versions = append(versions, int(version))
		if err := workflow.Sleep(ctx, time.Millisecond); err != nil {
			return nil, err
		}
	}
	return versions, nil
}

func sideEffects(ctx workflow.Context) ([]int, error) {
	var numbers []int
	for n := range 3 {
		var once, kept int
		if err := workflow.SideEffect(ctx, func(workflow.Context) any { return 10 * n }).Get(&once); err != nil {
			return nil, err
		}
		// The same value again is no change, and so no marker.
		same := func(a, b any) bool { return a == b }
		if err := workflow.MutableSideEffect(ctx, "kept", func(workflow.Context) any { return n / 2 }, same).Get(&kept); err != nil {
			return nil, err
		}
		numbers = append(numbers, once, kept)
		if err := workflow.Sleep(ctx, time.Millisecond); err != nil {
			return nil, err
		}
	}
	return numbers, nil
}

// inSession runs two activities on one worker, whose queue it tells.
func inSession(ctx workflow.Context) (string, error) {
	ctx = quickly(ctx)
	session, err := workflow.CreateSession(ctx, &workflow.SessionOptions{CreationTimeout: 20 * time.Second, ExecutionTimeout: time.Minute})
	if err != nil {
		return "", err
	}
	defer workflow.CompleteSession(session)
	var first, second string
	err = errors.Join(
		workflow.ExecuteActivity(session, whereAmI).Get(session, &first),
		workflow.ExecuteActivity(session, whereAmI).Get(session, &second),
	)
	if err == nil && first != second {
		err = errors.New("the session moved")
	}
	return first, err
}

// broken names the workflows whose code has an error that is mended after its first task.
var broken sync.Map

func mend(ctx workflow.Context) (string, error) {
	if _, isBroken := broken.LoadAndDelete(workflow.GetInfo(ctx).WorkflowExecution.ID); isBroken {
		panic("a bug")
	}
	return "mended", workflow.Sleep(ctx, time.Millisecond)
}

// writeMuch leaves a history of more than one page.
func writeMuch(ctx workflow.Context) (int, error) {
	written := 0
	for range 300 {
		var one int
		if err := workflow.SideEffect(ctx, func(workflow.Context) any { return 1 }).Get(&one); err != nil {
			return 0, err
		}
		written += one
	}
	return written, workflow.Sleep(ctx, time.Millisecond)
}

var workerScenarios = []scenario{
	{"versions are markers, and are in a search attribute", func(ctx context.Context, s *stage) {
		run := s.start(ctx, changed)
		expectResult(ctx, run, []int{2, 2, 2})
		expect("markers", len(s.eventsOf(ctx, run, enums.EVENT_TYPE_MARKER_RECORDED)), 2)
		fields := s.describe(ctx, run).GetWorkflowExecutionInfo().GetSearchAttributes().GetIndexedFields()
		expect("attribute", string(fields["TemporalChangeVersion"].GetData()), `["another-change-2","a-change-2"]`)
	}},
	{"side effects are markers; a mutable one is written when it changes", func(ctx context.Context, s *stage) {
		run := s.start(ctx, sideEffects)
		expectResult(ctx, run, []int{0, 0, 10, 0, 20, 1})
		expect("markers", len(s.eventsOf(ctx, run, enums.EVENT_TYPE_MARKER_RECORDED)), 5)
	}},
	{"a bug in a workflow fails its task, and it continues when the bug is fixed", func(ctx context.Context, s *stage) {
		id := s.name("broken")
		broken.Store(id, true)
		run := s.startWith(ctx, client.StartWorkflowOptions{ID: id}, mend)
		expectResult(ctx, run, "mended")
		failed := s.eventsOf(ctx, run, enums.EVENT_TYPE_WORKFLOW_TASK_FAILED)
		expect("failed tasks", len(failed), 1)
		expect("message", failed[0].GetWorkflowTaskFailedEventAttributes().GetFailure().GetMessage(), "a bug")
	}},
	{"a history of several pages is read and replayed", func(ctx context.Context, s *stage) {
		run := s.start(ctx, writeMuch)
		expectResult(ctx, run, 300)
		expect("markers", len(s.eventsOf(ctx, run, enums.EVENT_TYPE_MARKER_RECORDED)), 300)
	}},
	{"a session keeps its activities on one worker", func(ctx context.Context, s *stage) {
		queue := s.name("sessions")
		w := newWorker(s.client, queue, worker.Options{EnableSessionWorker: true})
		check(w.Start())
		defer w.Stop()
		run := s.startWith(ctx, client.StartWorkflowOptions{TaskQueue: queue}, inSession)
		var where string
		check(run.Get(ctx, &where))
		expect("a queue of its own", where != "" && where != queue, true)
	}},
	{"a worker that shuts down hands its workflows to another one", func(ctx context.Context, s *stage) {
		queue := s.name("handover")
		first := newWorker(s.client, queue, worker.Options{Identity: "first"})
		check(first.Start())
		run := s.startWith(ctx, client.StartWorkflowOptions{TaskQueue: queue}, collect, 1)
		s.idle(ctx, run)
		first.Stop()
		second := newWorker(s.client, queue, worker.Options{Identity: "second"})
		check(second.Start())
		defer second.Stop()
		s.signal(ctx, run, "go", "one")
		expectResult(ctx, run, []string{"one"})
		var identities []string
		for _, event := range s.eventsOf(ctx, run, enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED) {
			identities = append(identities, event.GetWorkflowTaskCompletedEventAttributes().GetIdentity())
		}
		expect("identities", identities, []string{"first", "second"})
		expect("timed out", len(s.eventsOf(ctx, run, enums.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT)), 0)
	}},
}
