package example

import "github.com/graphgen-go/graphgen/runtime/state"

// question returns the input of a thread.
func question(m Message) StateUpdate {
	return StateUpdate{
		Status:   state.Set("asked"),
		Log:      state.Append("new question"),
		Messages: state.Upsert[string](m),
		Facts:    state.Put("city", Fact{Source: "the map"}),
		Tokens:   state.Add[int64](42),
	}
}

// restart returns an update that makes a thread count and look for prices from the start.
func restart() StateUpdate {
	return state.Build(func(u *StateUpdate) {
		u.Tokens.Clear()
		u.Cheapest.Clear()
		u.Cheapest.Offer(9.5)
		u.Tags.Replace("restarted")
	})
}
