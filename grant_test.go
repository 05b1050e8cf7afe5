package durward

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDefaultLimitsBoundEverythingButTheAddressSpace(t *testing.T) {
	d := reflect.ValueOf(DefaultLimits())
	for i := range d.NumField() {
		name, got := d.Type().Field(i).Name, d.Field(i).Int()
		if bounded := got > 0; bounded == (name == "AddressSpace") {
			t.Errorf("%s is %d by default", name, got)
		}
	}
}

func TestZeroLimitsAreTheDefaults(t *testing.T) {
	if diff := cmp.Diff(DefaultLimits(), Limits{}.WithDefaults()); diff != "" {
		t.Error(diff)
	}
}

func TestALimitThatIsSetStays(t *testing.T) {
	fields := reflect.TypeFor[Limits]().NumField()
	for _, value := range []int64{1, Unlimited, int64(time.Hour)} {
		for i := range fields {
			var set Limits
			reflect.ValueOf(&set).Elem().Field(i).SetInt(value)
			want := DefaultLimits()
			reflect.ValueOf(&want).Elem().Field(i).SetInt(value)
			if diff := cmp.Diff(want, set.WithDefaults()); diff != "" {
				t.Error(diff)
			}
		}
	}
}

func TestLevelNumber(t *testing.T) {
	for level, want := range map[Level]int{LevelAuto: -1, LevelNone: 0, LevelRestrict: 1, LevelIsolate: 2, LevelContainer: 3, LevelMicroVM: 4} {
		if got := level.Number(); got != want {
			t.Errorf("level %d counts as %d, want %d", int(level), got, want)
		}
	}
}

func TestRequirementString(t *testing.T) {
	for _, g := range Guarantees() {
		if got := (Requirement{Guarantee: g}).String(); got != string(g) {
			t.Errorf("%q, want %q", got, g)
		}
		if got, want := (Requirement{Guarantee: g, Kernel: true}).String(), string(g)+"!"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
