package mcp

import "testing"

func TestABudgetIsGivenOutInOrder(t *testing.T) {
	b := &budget{most: 10}
	first, second, third := b.ask(6), b.ask(5), b.ask(1)
	if !first.isThere() || second.isThere() || third.isThere() {
		t.Fatal("the first fits, the second does not, and the third is behind it")
	}
	if b.try(1) != nil {
		t.Error("one that does not wait went past those who do")
	}
	first.free()
	first.free()
	if !second.isThere() || !third.isThere() || b.used != 6 {
		t.Errorf("both fit now: %d are used", b.used)
	}
	if fourth := b.try(4); fourth == nil || b.try(1) != nil {
		t.Error("four are left")
	}
}

// One that is larger than all there is does not wait for ever, and is alone.
func TestAPartThatIsTooLarge(t *testing.T) {
	b := &budget{most: 10}
	small, large, next := b.ask(1), b.ask(1000), b.ask(1)
	if large.isThere() {
		t.Error("it is not alone")
	}
	small.free()
	if !large.isThere() || next.isThere() {
		t.Error("it is to be alone")
	}
	large.free()
	if !next.isThere() || b.used != 1 {
		t.Errorf("%d are used", b.used)
	}
}

// A part weighs what it turned out to be, and counts once.
func TestAPartThatIsWeighedAgain(t *testing.T) {
	b := &budget{most: 10}
	first, second, third := b.ask(8), b.ask(6), b.ask(4)
	second.weigh(1)
	if second.isThere() || b.used != 8 {
		t.Fatalf("nothing was given back: %d are used", b.used)
	}
	first.weigh(4)
	if !second.isThere() || third.isThere() || b.used != 10 {
		t.Errorf("the second fits now: %d are used", b.used)
	}
	second.weigh(20)
	first.free()
	first.weigh(1)
	if third.isThere() || b.used != 20 {
		t.Errorf("the third does not fit beside one that large: %d are used", b.used)
	}
	second.free()
	if !third.isThere() || b.used != 4 {
		t.Errorf("the third fits now: %d are used", b.used)
	}
	third.free()
	if b.used != 0 {
		t.Errorf("%d are used", b.used)
	}
}

// Who gives up waiting holds nobody up.
func TestAPartThatIsNotWaitedFor(t *testing.T) {
	b := &budget{most: 10}
	first, second, third := b.ask(6), b.ask(10), b.ask(4)
	second.free()
	if second.isThere() || !third.isThere() || b.used != 10 {
		t.Errorf("%d are used", b.used)
	}
	third.free()
	first.free()
	if b.used != 0 || len(b.waiting) != 0 {
		t.Errorf("%d are used, and %d wait", b.used, len(b.waiting))
	}
	var none *part
	none.free()
}
