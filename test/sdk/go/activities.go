package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

var activities = []any{greet, succeedAt, failForGood, overrun, fallSilentOnce, beatUntilCanceled, completeElsewhere, whereAmI}

func greet(_ context.Context, name string) (string, error) {
	return "Hello, " + name + "!", nil
}

// succeedAt fails in every attempt before the one that is given.
func succeedAt(ctx context.Context, wanted int32) (int32, error) {
	attempt := activity.GetInfo(ctx).Attempt
	if attempt < wanted {
		return 0, errors.New("not yet")
	}
	return attempt, nil
}

func failForGood(context.Context) error {
	return temporal.NewNonRetryableApplicationError("no use", "Hopeless", nil, "details")
}

// overrun takes longer than its attempt may.
func overrun(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// fallSilentOnce beats once and then stalls; a later attempt says what the first one had reached. On a slow machine some fall silent before they begin.
func fallSilentOnce(ctx context.Context) (string, error) {
	if activity.HasHeartbeatDetails(ctx) {
		var reached string
		err := activity.GetHeartbeatDetails(ctx, &reached)
		return "goes on from " + reached, err
	}
	activity.RecordHeartbeat(ctx, "halfway")
	select {
	case <-ctx.Done():
	case <-time.After(3 * time.Second):
	}
	return "", errors.New("nobody listens any more")
}

func beatUntilCanceled(ctx context.Context) error {
	for {
		activity.RecordHeartbeat(ctx, "beating")
		select {
		case <-ctx.Done():
			return temporal.NewCanceledError("cleaned up")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// tokens of activities that are completed from outside, by the workflow that they belong to.
var tokens sync.Map

func tokenOf(workflowID string) chan []byte {
	tokens, _ := tokens.LoadOrStore(workflowID, make(chan []byte, 1))
	return tokens.(chan []byte)
}

func completeElsewhere(ctx context.Context) (string, error) {
	info := activity.GetInfo(ctx)
	tokenOf(info.WorkflowExecution.ID) <- info.TaskToken
	return "", activity.ErrResultPending
}

// whereAmI tells the task queue that the activity came from.
func whereAmI(ctx context.Context) (string, error) {
	return activity.GetInfo(ctx).TaskQueue, nil
}
