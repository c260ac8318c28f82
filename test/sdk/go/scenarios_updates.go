package main

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

var updateWorkflows = []any{account}

// account takes deposits until it is told to close; a settlement waits for a signal.
func account(ctx workflow.Context) (int, error) {
	balance := 0
	closed := false
	positive := func(amount int) error {
		if amount <= 0 {
			return errors.New("a deposit is more than nothing")
		}
		return nil
	}
	deposit := func(ctx workflow.Context, amount int) (int, error) {
		balance += amount
		return balance, nil
	}
	settle := func(ctx workflow.Context) (string, error) {
		workflow.GetSignalChannel(ctx, "settled").Receive(ctx, nil)
		return "settled", nil
	}
	failing := func(ctx workflow.Context) error { return temporal.NewApplicationError("overdrawn", "Overdrawn") }
	err := errors.Join(
		workflow.SetUpdateHandlerWithOptions(ctx, "deposit", deposit, workflow.UpdateHandlerOptions{Validator: positive}),
		workflow.SetUpdateHandler(ctx, "settle", settle),
		workflow.SetUpdateHandler(ctx, "withdraw", failing),
		workflow.SetUpdateHandler(ctx, "close", func(workflow.Context) error { closed = true; return nil }),
	)
	if err != nil {
		return 0, err
	}
	err = workflow.Await(ctx, func() bool { return closed && workflow.AllHandlersFinished(ctx) })
	return balance, err
}

func (s *stage) update(ctx context.Context, run client.WorkflowRun, name string, args ...any) (client.WorkflowUpdateHandle, error) {
	return s.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: run.GetID(), UpdateName: name, Args: args, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
}

// close ends an account, and expects what is left in it.
func (s *stage) close(ctx context.Context, run client.WorkflowRun, balance int) {
	check(must(s.update(ctx, run, "close")).Get(ctx, nil))
	expectResult(ctx, run, balance)
}

var updateScenarios = []scenario{
	{"updates are answered, and are in the history", func(ctx context.Context, s *stage) {
		run := s.start(ctx, account)
		for n := 1; n <= 3; n++ {
			var balance int
			check(must(s.update(ctx, run, "deposit", 10)).Get(ctx, &balance))
			expect("balance", balance, 10*n)
		}
		s.close(ctx, run, 30)
		expect("completed updates", len(s.eventsOf(ctx, run, enums.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED)), 4)
	}},
	{"an update that the validator rejects leaves no trace", func(ctx context.Context, s *stage) {
		run := s.start(ctx, account)
		s.idle(ctx, run)
		before := len(s.history(ctx, run.GetID(), run.GetRunID()).Events)
		err := must(s.update(ctx, run, "deposit", 0)).Get(ctx, nil)
		expect("message", expectError[*temporal.ApplicationError](err).Message(), "a deposit is more than nothing")
		expect("events", len(s.history(ctx, run.GetID(), run.GetRunID()).Events), before)
		s.close(ctx, run, 0)
	}},
	{"an update whose handler fails, or that is unknown, is a failure for its caller only", func(ctx context.Context, s *stage) {
		run := s.start(ctx, account)
		err := must(s.update(ctx, run, "withdraw")).Get(ctx, nil)
		expect("type", expectError[*temporal.ApplicationError](err).Type(), "Overdrawn")
		expectError[*temporal.ApplicationError](must(s.update(ctx, run, "rob")).Get(ctx, nil))
		s.close(ctx, run, 0)
	}},
	{"an update is accepted first and completed later, and found again by its id", func(ctx context.Context, s *stage) {
		run := s.start(ctx, account)
		id := s.name("settlement")
		accepted := must(s.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
			WorkflowID: run.GetID(), UpdateID: id, UpdateName: "settle", WaitForStage: client.WorkflowUpdateStageAccepted,
		}))
		expect("id", accepted.UpdateID(), id)
		expect("accepted", len(s.eventsOf(ctx, run, enums.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED)), 1)
		s.signal(ctx, run, "settled", nil)
		again := s.client.GetWorkflowUpdateHandle(client.GetWorkflowUpdateHandleOptions{WorkflowID: run.GetID(), UpdateID: id})
		for _, handle := range []client.WorkflowUpdateHandle{accepted, again} {
			var answer string
			check(handle.Get(ctx, &answer))
			expect("answer", answer, "settled")
		}
		s.close(ctx, run, 0)
	}},
	{"update with start starts a workflow, or finds it", func(ctx context.Context, s *stage) {
		id := s.name("account")
		for n := 1; n <= 2; n++ {
			start := s.client.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
				ID: id, TaskQueue: s.taskQueue, WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
			}, account)
			handle := must(s.client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
				StartWorkflowOperation: start,
				UpdateOptions:          client.UpdateWorkflowOptions{UpdateName: "deposit", Args: []any{5}, WaitForStage: client.WorkflowUpdateStageCompleted},
			}))
			var balance int
			check(handle.Get(ctx, &balance))
			expect("balance", balance, 5*n)
			run := must(start.Get(ctx))
			s.remember(run)
			if n == 2 {
				s.close(ctx, run, 10)
			}
		}
	}},
	{"many updates at once are all answered, each once", func(ctx context.Context, s *stage) {
		run := s.start(ctx, account)
		answers := make(chan error)
		for range 10 {
			go func() {
				handle, err := s.update(ctx, run, "deposit", 1)
				if err == nil {
					err = handle.Get(ctx, nil)
				}
				answers <- err
			}()
		}
		for range 10 {
			select {
			case err := <-answers:
				check(err)
			case <-time.After(20 * time.Second):
				panic("an update was never answered")
			}
		}
		s.close(ctx, run, 10)
	}},
}
