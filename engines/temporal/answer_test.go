package temporal

import (
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
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
