package temporal

import (
	"context"

	commandpb "go.temporal.io/api/command/v1"
	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// answerer answers the workflow tasks of a task queue, also of workflows that other processes have
// started. A few events of its history say how a workflow continues. So an answerer keeps no
// workflow in memory, needs no replay, and any process may give the next answer.
type answerer struct {
	service   workflowservice.WorkflowServiceClient
	namespace string
	queue     string
}

// run answers tasks until a call fails.
func (a *answerer) run(ctx context.Context) error {
	for {
		task, err := a.next(ctx)
		if err != nil {
			return err
		}
		if len(task.GetTaskToken()) == 0 {
			continue // there was none for some time
		}
		call, cancel := context.WithTimeout(ctx, timeout)
		_, _ = a.service.RespondWorkflowTaskCompleted(call, &workflowservice.RespondWorkflowTaskCompletedRequest{
			Namespace: a.namespace, TaskToken: task.GetTaskToken(), Commands: decideHints(task),
		}) // after an error, the server makes another task due
		cancel()
	}
}

// next waits for a task.
func (a *answerer) next(ctx context.Context) (*workflowservice.PollWorkflowTaskQueueResponse, error) {
	call, cancel := context.WithTimeout(ctx, longPoll)
	defer cancel()
	return a.service.PollWorkflowTaskQueue(call, &workflowservice.PollWorkflowTaskQueueRequest{
		Namespace: a.namespace, TaskQueue: normalQueue(a.queue),
	})
}

func normalQueue(name string) *taskqueuepb.TaskQueue {
	return &taskqueuepb.TaskQueue{Name: name, Kind: enumspb.TASK_QUEUE_KIND_NORMAL}
}

// decideHints decides for the workflow of a graph. The workflow has nothing to do, but each signal
// makes a task due. When its history has become long, it continues as new. If hints arrive
// meanwhile, the server refuses that, and makes another task due.
func decideHints(task *workflowservice.PollWorkflowTaskQueueResponse) []*commandpb.Command {
	if task.GetStartedEventId() <= newRunAt {
		return nil
	}
	return []*commandpb.Command{{
		CommandType: enumspb.COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION,
		Attributes: &commandpb.Command_ContinueAsNewWorkflowExecutionCommandAttributes{
			ContinueAsNewWorkflowExecutionCommandAttributes: &commandpb.ContinueAsNewWorkflowExecutionCommandAttributes{
				WorkflowType: task.GetWorkflowType(), TaskQueue: normalQueue(task.GetWorkflowExecutionTaskQueue().GetName()),
			},
		},
	}}
}
