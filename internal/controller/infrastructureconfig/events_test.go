package infrastructureconfig

import (
	"log/slog"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/report"
)

func TestEachErrorOfTheSpecificationIsAnEvent(t *testing.T) {
	server := apitest.Shared(t)
	c := &Controller{Client: server.Client, Board: &report.Board{}, Events: server.Recorder(t, Name), Log: slog.New(slog.DiscardHandler)}
	infra := &configv1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	server.Create(t, infra)
	var notes []string
	for _, detail := range []string{"192.0.2.1 is not first", "192.0.2.2 is not first", strings.Repeat("ü", 1000)} {
		c.report(infra, field.ErrorList{field.Invalid(field.NewPath("spec"), "", detail)})
		notes = append(notes, phrase.Note(c.lastMessage))
	}
	server.AwaitNotes(t, infra, reasonSync, notes...)
}
