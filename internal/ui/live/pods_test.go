package live

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cluster-network-operator/cno/internal/ui/page"
)

func TestAllPodsAreListedOnceForManyQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists, failing := 0, true
		l := &podList{list: func(ctx context.Context) ([]page.Pod, error) {
			lists++
			time.Sleep(time.Second)
			if failing {
				return nil, errors.New("the API server does not answer")
			}
			return []page.Pod{{Name: "a"}}, ctx.Err()
		}}
		if _, err := l.get(t.Context()); err == nil {
			t.Error("the error of a list is lost")
		}
		failing = false
		typed, abort := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := l.get(typed); !errors.Is(err, context.Canceled) {
				t.Errorf("a request that the browser has closed returns %v", err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			if pods, err := l.get(t.Context()); err != nil || len(pods) != 1 {
				t.Errorf("%v, %v, although only another request was closed", pods, err)
			}
		})
		synctest.Wait()
		abort()
		all.Wait()
		time.Sleep(podsKept - time.Second)
		if pods, err := l.get(t.Context()); err != nil || len(pods) != 1 || lists != 2 {
			t.Errorf("%v, %v, %d lists; want the kept pods, and two lists, one of which failed", pods, err, lists)
		}
		time.Sleep(2 * time.Second)
		if _, err := l.get(t.Context()); err != nil || lists != 3 {
			t.Errorf("%v, %d lists; old pods are listed again", err, lists)
		}
	})
}
