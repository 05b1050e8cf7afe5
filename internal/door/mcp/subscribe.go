package mcp

import (
	"bytes"
	"context"
	"slices"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/mcpspec"
)

// maxSubscriptions bounds those of one client.
const maxSubscriptions = 64

// A subscription is a request of the modern era that stays open for changes.
type subscription struct {
	request request // without what it carried
	tools   bool    // the list of tools is listened to
}

type wishes struct {
	ToolsListChanged bool `json:"toolsListChanged,omitempty"`
}

// subscriptionMeta marks what belongs to a subscription.
type subscriptionMeta map[string]jsonrpc.ID

func (r request) subscriptionMeta() subscriptionMeta {
	return subscriptionMeta{mcpspec.MetaSubscription: r.ID}
}

type subscriptionParams struct {
	Meta subscriptionMeta `json:"_meta"`
	// Notifications says what will be told; nil in what is told.
	Notifications *wishes `json:"notifications,omitempty"`
}

// subscribe says what will be told, and leaves the request open.
func (s *session) subscribe(_ context.Context, r request) reply {
	var asked wishes
	switch {
	case r.batched:
		return refuse(jsonrpc.InvalidRequest, "subscriptions/listen cannot stand in a batch")
	case !isObject(r.params.notifications) || decode(r.params.notifications, &asked) != nil:
		return refuse(jsonrpc.InvalidParams, "notifications is not an object of what to listen to")
	case len(s.subscriptions) == maxSubscriptions:
		return refuse(jsonrpc.InvalidRequest, "too many subscriptions are open")
	}
	kept := request{Message: jsonrpc.Message{Kind: r.Kind, ID: r.ID}, meta: mcpspec.Meta{Modern: true}}
	s.subscriptions = append(s.subscriptions, subscription{request: kept, tools: asked.ToolsListChanged})
	s.notify("notifications/subscriptions/acknowledged", subscriptionParams{r.subscriptionMeta(), &asked})
	return reply{open: true}
}

// unsubscribe forgets a subscription without an answer.
func (s *session) unsubscribe(id jsonrpc.ID) {
	at := slices.IndexFunc(s.subscriptions, func(sub subscription) bool { return sub.request.ID == id })
	if at >= 0 {
		s.subscriptions = slices.Delete(s.subscriptions, at, at+1)
		s.inFlight.Done(id)
	}
}

// unsubscribeAll answers all subscriptions: they are over.
func (s *session) unsubscribeAll() {
	s.loop.take()
	defer s.loop.give()
	for _, sub := range s.subscriptions {
		t := task{request: sub.request.Message, reply: reply{result: struct {
			mark
			Meta subscriptionMeta `json:"_meta"`
		}{sub.request.mark(), sub.request.subscriptionMeta()}}}
		if answer := t.message(t.reply); s.inFlight.Done(t.request.ID) {
			s.send(answer)
		}
	}
}

// changed tells clients that their list of tools is another one, if it is.
func (s *session) changed() {
	s.loop.take()
	defer s.loop.give()
	tools := listed(s.Surface())
	if bytes.Equal(tools, s.tools) {
		return
	}
	s.tools = tools
	const method = "notifications/tools/list_changed"
	if s.version != "" {
		s.notify(method, struct{}{})
	}
	for _, sub := range s.subscriptions {
		if sub.tools {
			s.notify(method, subscriptionParams{Meta: sub.request.subscriptionMeta()})
		}
	}
}
