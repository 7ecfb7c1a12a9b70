package journal

import (
	"encoding/json"

	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// image is a state as it is kept.
type image struct {
	Schema int
	State  *state.Image
	Model  *model.Record // nil before the first
}

// EncodeState gives a State as it is kept.
func EncodeState(s *state.State) ([]byte, error) { return EncodeMoment(s.Moment()) }

// EncodeMoment gives a State as it is kept, as it was at one time. It may run on any
// goroutine.
func EncodeMoment(m *state.Moment) ([]byte, error) {
	im := image{Schema: Schema, State: m.Image()}
	if r, ok := im.State.Classes.(*model.Record); ok {
		im.Model = r
	}
	return json.Marshal(im)
}

// DecodeState gives the State again. Its settings are not part of it.
func DecodeState(text []byte, settings state.Settings) (*state.State, error) {
	refuse := func(detail string, err error) (*state.State, error) {
		return nil, &poise.Error{Kind: poise.Invalid, Op: "read state", Detail: detail, Err: err}
	}
	var im image
	if err := strict(text, &im); err != nil {
		return refuse("", err)
	}
	if im.Schema != Schema || im.State == nil {
		return refuse("schema: another than this version writes, expected its own", nil)
	}
	if im.Model != nil {
		if _, err := model.Restore(*im.Model); err != nil {
			return refuse("model", err)
		}
		im.State.Classes = im.Model
	}
	return state.FromImage(im.State, settings)
}
