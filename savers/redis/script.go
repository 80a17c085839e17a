package redis

import (
	"context"
	_ "embed" // the scripts are files
	"fmt"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

var (
	//go:embed lua/common.lua
	commonLua string
	//go:embed lua/commit.lua
	commitLua string
	//go:embed lua/append.lua
	appendLua string
	//go:embed lua/put.lua
	putLua string
	//go:embed lua/load.lua
	loadLua string
	//go:embed lua/log.lua
	logLua string
	//go:embed lua/page.lua
	pageLua string
	//go:embed lua/old.lua
	oldLua string
	//go:embed lua/pack.lua
	packLua string
	//go:embed lua/describe.lua
	describeLua string
	//go:embed lua/schemas.lua
	schemasLua string
	//go:embed lua/versions.lua
	versionsLua string
	//go:embed lua/release.lua
	releaseLua string
	//go:embed lua/delete.lua
	deleteLua string
	//go:embed lua/whole.lua
	wholeLua string
	//go:embed lua/prune.lua
	pruneLua string
	//go:embed lua/stage.lua
	stageLua string
	//go:embed lua/import.lua
	importLua string
	//go:embed lua/end.lua
	endLua string
	//go:embed lua/index.lua
	indexLua string
	//go:embed lua/ready.lua
	readyLua string
	//go:embed lua/wakes.lua
	wakesLua string
	//go:embed lua/rewake.lua
	rewakeLua string
	//go:embed lua/inbox.lua
	inboxLua string
	//go:embed lua/post.lua
	postLua string
	//go:embed lua/mail.lua
	mailLua string
	//go:embed lua/news.lua
	newsLua string
	//go:embed lua/outcome.lua
	outcomeLua string
	//go:embed lua/outcomes.lua
	outcomesLua string
	//go:embed lua/repair.lua
	repairLua string
	//go:embed lua/list.lua
	listLua string
	//go:embed lua/newest.lua
	newestLua string
	//go:embed lua/store.lua
	storeLua string
	//go:embed lua/store_do.lua
	storeDoLua string
	//go:embed lua/store_find.lua
	storeFindLua string
	//go:embed lua/store_namespaces.lua
	storeNamespacesLua string
	//go:embed lua/store_near.lua
	storeNearLua string
	//go:embed lua/store_declare.lua
	storeDeclareLua string
	//go:embed lua/store_sweep.lua
	storeSweepLua string
)

// scripts are the scripts with their hashes.
type scripts struct {
	append, commit, put, load, log, page, describe, schemas, versions, release, delete, whole, prune, stage, importing, end, old, pack, rewake, post, mail, news, outcome, outcomes *goredis.Script // on a thread
	index, list, newest, ready, wakes, repair                                                                                                                                       *goredis.Script // on the index

	storeDo, storeFind, storeNamespaces, storeSweep, storeDeclare, storeNear *goredis.Script
}

func newScripts() scripts {
	thread := func(source string) *goredis.Script { return goredis.NewScript(commonLua + source) }
	inbox := func(source string) *goredis.Script { return goredis.NewScript(commonLua + inboxLua + source) }
	items := func(source string) *goredis.Script { return goredis.NewScript(storeLua + source) }
	return scripts{
		append: inbox(appendLua), commit: goredis.NewScript(commitLua), put: inbox(putLua), load: thread(loadLua), log: thread(logLua), page: thread(pageLua),
		describe: thread(describeLua), schemas: thread(schemasLua), versions: thread(versionsLua), release: inbox(releaseLua), delete: inbox(deleteLua),
		whole: inbox(wholeLua), prune: thread(pruneLua), stage: thread(stageLua), importing: inbox(importLua), end: thread(endLua), old: thread(oldLua), pack: thread(packLua), rewake: thread(rewakeLua),
		post: inbox(postLua), mail: inbox(mailLua), news: goredis.NewScript(newsLua), outcome: thread(outcomeLua), outcomes: thread(outcomesLua),
		index: goredis.NewScript(indexLua), list: goredis.NewScript(listLua), newest: goredis.NewScript(newestLua), ready: goredis.NewScript(readyLua), wakes: goredis.NewScript(wakesLua), repair: goredis.NewScript(repairLua),
		storeDo: items(storeDoLua), storeFind: items(storeFindLua), storeNamespaces: items(storeNamespacesLua), storeSweep: items(storeSweepLua),
		storeDeclare: items(storeDeclareLua), storeNear: items(storeNearLua),
	}
}

// run runs a script, which it sends only when the server does not have it.
func (s *Saver) run(ctx context.Context, script *goredis.Script, keys []string, args ...any) (*reply, error) {
	v, err := script.Run(ctx, s.client, keys, args...).Slice()
	if err != nil {
		return nil, damaged(s.sized(ctx, err, args))
	}
	return &reply{values: v}, nil
}

// damaged makes the error of a script that met what it could not have stored ErrDamaged.
func damaged(err error) error {
	text := err.Error()
	script := strings.Contains(text, "user_script") && (strings.Contains(text, "damaged: ") || strings.Contains(text, "attempt to "))
	if script || goredis.HasErrorPrefix(err, "WRONGTYPE") {
		return fmt.Errorf("%w: %w", checkpoint.ErrDamaged, err)
	}
	return err
}

// call runs a script as one call of the saver.
func (s *Saver) call(ctx context.Context, what string, script *goredis.Script, keys []string, args ...any) (*reply, error) {
	return s.asked(ctx, what, func(ctx context.Context) (*reply, error) { return s.run(ctx, script, keys, args...) })
}

// asked makes one call of the saver, as do does, and returns what the server answered.
func (s *Saver) asked(ctx context.Context, what string, ask func(ctx context.Context) (*reply, error)) (*reply, error) {
	got := make(chan *reply, 1)
	err := s.do(ctx, what, func(ctx context.Context) error {
		r, err := ask(ctx)
		if err == nil {
			got <- r
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return <-got, nil
}

// both runs a script on sets of the index and then one on a thread. On a single server, or what
// stands for one, they are sent together and run in that order.
func (s *Saver) both(ctx context.Context, sets []string, index, args []any, script *goredis.Script, key string) (*reply, error) {
	single, ok := s.client.(*goredis.Client)
	if !ok {
		return s.oneByOne(ctx, sets, index, args, script, key)
	}
	pipe := single.Pipeline()
	first := pipe.EvalSha(ctx, s.script.index.Hash(), sets, index...)
	second := pipe.EvalSha(ctx, script.Hash(), []string{key}, args...)
	_, err := pipe.Exec(ctx)
	switch {
	case goredis.HasErrorPrefix(first.Err(), "NOSCRIPT"), goredis.HasErrorPrefix(second.Err(), "NOSCRIPT"):
		return s.oneByOne(ctx, sets, index, args, script, key)
	case err != nil:
		return nil, damaged(s.sized(ctx, err, args))
	}
	v, err := second.Slice()
	return &reply{values: v}, err
}

func (s *Saver) oneByOne(ctx context.Context, sets []string, index, args []any, script *goredis.Script, key string) (*reply, error) {
	if _, err := s.run(ctx, s.script.index, sets, index...); err != nil {
		return nil, err
	}
	return s.run(ctx, script, []string{key}, args...)
}
