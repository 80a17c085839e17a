package temporal

import (
	"context"
	"errors"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/graphgen-go/graphgen/engines/internal/carry"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

func TestHintsContinueAsNewAfterManyEvents(t *testing.T) {
	task := &workflowservice.PollWorkflowTaskQueueResponse{
		StartedEventId: newRunAt, WorkflowExecutionTaskQueue: &taskqueuepb.TaskQueue{Name: "g-hints"},
		WorkflowType: &commonpb.WorkflowType{Name: hintsType},
	}
	if got := decideHints(task); len(got) != 0 {
		t.Errorf("after %d events: got %v, want no command", newRunAt, got)
	}
	task.StartedEventId++
	got := decideHints(task)
	if len(got) != 1 {
		t.Fatalf("after one more: got %v, want one command", got)
	}
	next := got[0].GetContinueAsNewWorkflowExecutionCommandAttributes()
	if next.GetTaskQueue().GetName() != "g-hints" || next.GetWorkflowType().GetName() != hintsType {
		t.Errorf("got %v, want the same workflow on the same task queue", next)
	}
}

// history returns events of a task, without attributes that nothing reads.
func history(types ...enumspb.EventType) *workflowservice.PollWorkflowTaskQueueResponse {
	var events []*historypb.HistoryEvent
	for _, kind := range types {
		e := &historypb.HistoryEvent{EventType: kind}
		switch kind {
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
			e.Attributes = &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
				WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{Input: payloads("a task")},
			}
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
			e.Attributes = &historypb.HistoryEvent_ActivityTaskFailedEventAttributes{
				ActivityTaskFailedEventAttributes: &historypb.ActivityTaskFailedEventAttributes{Failure: &failurepb.Failure{Message: "why"}},
			}
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
			e.Attributes = &historypb.HistoryEvent_ActivityTaskTimedOutEventAttributes{
				ActivityTaskTimedOutEventAttributes: &historypb.ActivityTaskTimedOutEventAttributes{Failure: &failurepb.Failure{Message: "why"}},
			}
		}
		events = append(events, e)
	}
	return &workflowservice.PollWorkflowTaskQueueResponse{History: &historypb.History{Events: events}}
}

func TestATaskBeginsItsActivityOnceAndEndsWithIt(t *testing.T) {
	decide := decideTask("gpu", time.Minute)
	started, scheduled := enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
	got := decide(history(started))
	if len(got) != 1 {
		t.Fatalf("at the beginning: got %v, want one command", got)
	}
	a := got[0].GetScheduleActivityTaskCommandAttributes()
	if string(a.GetInput().GetPayloads()[0].GetData()) != "a task" || a.GetTaskQueue().GetName() != "gpu" ||
		a.GetHeartbeatTimeout().AsDuration() != time.Minute || a.GetActivityType().GetName() != taskType {
		t.Errorf("at the beginning: got %v, want the activity with the input of the workflow", a)
	}
	if got := decide(history(started, scheduled)); len(got) != 0 {
		t.Errorf("while the activity runs: got %v, want no command", got)
	}
	got = decide(history(started, scheduled, enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED))
	if len(got) != 1 || got[0].GetCommandType() != enumspb.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION {
		t.Errorf("after the activity: got %v, want the end of the workflow", got)
	}
	for _, end := range []enumspb.EventType{enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED, enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT} {
		got = decide(history(started, scheduled, end))
		if len(got) != 1 || got[0].GetFailWorkflowExecutionCommandAttributes().GetFailure().GetMessage() != "why" {
			t.Errorf("after %s: got %v, want the failure of the activity", end, got)
		}
	}
}

// runActivity runs the activity of a task in the test suite of the SDK.
func runActivity(t *testing.T, s *serving) error {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(s.perform, activity.RegisterOptions{Name: taskType})
	b, err := carry.Encode(graph.QueuedTask{Queue: "gpu", Graph: "g", Thread: "\xff", Task: "a"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = env.ExecuteActivity(taskType, b)
	return err
}

func TestTheActivityRunsTheTask(t *testing.T) {
	var got graph.QueuedTask
	s := &serving{t.Context(), func(_ context.Context, task graph.QueuedTask) error {
		got = task
		return nil
	}}
	if err := runActivity(t, s); err != nil || got.Thread != "\xff" || got.Queue != "gpu" || got.Graph != "g" || got.Task != "a" {
		t.Errorf("got %+v, %v; want the task", got, err)
	}
}

func TestTheActivityOfAWorkerThatLeavesIsRepeatedAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &serving{ctx, func(context.Context, graph.QueuedTask) error { return errors.New("the saver is down") }}
	for _, want := range []time.Duration{0, time.Millisecond} { // 0 is the pause of the policy
		err := runActivity(t, s)
		var failed *temporal.ApplicationError
		if !errors.As(err, &failed) || failed.NonRetryable() || failed.NextRetryDelay() != want || failed.Message() != "the saver is down" {
			t.Errorf("got %v, want an error that is retried after %s", err, want)
		}
		cancel()
	}
}
