package temporal

import (
	"context"
	"time"

	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/durationpb"
)

// answerer answers the workflow tasks of a task queue, also of workflows that other processes have
// started. A few events of its history say how a workflow continues. So an answerer keeps no
// workflow in memory, needs no replay, and any process may give the next answer.
type answerer struct {
	service   workflowservice.WorkflowServiceClient
	namespace string
	queue     string
	decide    func(task *workflowservice.PollWorkflowTaskQueueResponse) []*commandpb.Command
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
			Namespace: a.namespace, TaskToken: task.GetTaskToken(), Commands: a.decide(task),
		}) // after an error, the server makes another task due
		cancel()
	}
}

// keepOn answers tasks until ctx ends.
func (a *answerer) keepOn(ctx context.Context) {
	for ctx.Err() == nil {
		_ = a.run(ctx) // Do notices that the server does not answer
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
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

// decideTask decides for the workflow of a task of a queue: it begins the activity, and ends with
// it.
func decideTask(queue string, heartbeat time.Duration) func(*workflowservice.PollWorkflowTaskQueueResponse) []*commandpb.Command {
	return func(task *workflowservice.PollWorkflowTaskQueueResponse) []*commandpb.Command {
		var input *commonpb.Payloads
		began := false
		for _, event := range task.GetHistory().GetEvents() {
			switch event.GetEventType() {
			case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
				input = event.GetWorkflowExecutionStartedEventAttributes().GetInput()
			case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
				began = true
			case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
				return complete()
			case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
				return fail(event.GetActivityTaskFailedEventAttributes().GetFailure())
			case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
				return fail(event.GetActivityTaskTimedOutEventAttributes().GetFailure())
			}
		}
		if began {
			return nil
		}
		return begin(queue, heartbeat, input)
	}
}

// begin begins the activity of a task. The server repeats it until a worker has returned without
// an error.
func begin(queue string, heartbeat time.Duration, input *commonpb.Payloads) []*commandpb.Command {
	return []*commandpb.Command{{
		CommandType: enumspb.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,
		Attributes: &commandpb.Command_ScheduleActivityTaskCommandAttributes{
			ScheduleActivityTaskCommandAttributes: &commandpb.ScheduleActivityTaskCommandAttributes{
				ActivityId:          "task",
				ActivityType:        &commonpb.ActivityType{Name: taskType},
				TaskQueue:           normalQueue(queue),
				Input:               input,
				StartToCloseTimeout: durationpb.New(keep),
				HeartbeatTimeout:    durationpb.New(heartbeat),
				RetryPolicy: &commonpb.RetryPolicy{
					InitialInterval: durationpb.New(pause), BackoffCoefficient: 2, MaximumInterval: durationpb.New(rest),
				},
			},
		},
	}}
}

func complete() []*commandpb.Command {
	return []*commandpb.Command{{
		CommandType: enumspb.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION,
		Attributes: &commandpb.Command_CompleteWorkflowExecutionCommandAttributes{
			CompleteWorkflowExecutionCommandAttributes: &commandpb.CompleteWorkflowExecutionCommandAttributes{},
		},
	}}
}

func fail(because *failurepb.Failure) []*commandpb.Command {
	return []*commandpb.Command{{
		CommandType: enumspb.COMMAND_TYPE_FAIL_WORKFLOW_EXECUTION,
		Attributes: &commandpb.Command_FailWorkflowExecutionCommandAttributes{
			FailWorkflowExecutionCommandAttributes: &commandpb.FailWorkflowExecutionCommandAttributes{Failure: because},
		},
	}}
}
