package ovsdb

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkInsert measures transactions with a real server: one row, and 5,000 rows in transactions of 100.
func BenchmarkInsert(b *testing.B) {
	c, err := Dial(b.Context(), server(b))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	queue := func(i int) Operation {
		return Insert("Queue", "", map[string]any{"external_ids": Map{"name": fmt.Sprintf("row-%d", i)}})
	}
	b.Run("rows=1", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, err := c.Transact(b.Context(), db, queue(i)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("rows=5000", func(b *testing.B) {
		for b.Loop() {
			for first := 0; first < 5000; first += 100 {
				var operations []Operation
				for i := range 100 {
					operations = append(operations, queue(first+i))
				}
				if _, err := c.Transact(b.Context(), db, operations...); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed()/time.Duration(b.N))/5000/float64(time.Microsecond), "us/row")
	})
}
