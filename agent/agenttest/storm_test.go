package agenttest

import (
	"testing"

	"github.com/graphgen-go/graphgen/agent"
)

func TestStorm(t *testing.T) {
	storm(t, 200, false, func(m agent.Model) agent.Model { return m })
}
