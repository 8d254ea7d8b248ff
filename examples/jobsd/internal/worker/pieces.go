package worker

// pieceSize is how many bytes of a stream lie together in memory.
const pieceSize = 64 << 10

// pieces is a range of a stream, held in blocks of pieceSize bytes so that it
// grows at its end and shrinks at its start without being copied. It holds at most
// a block more than the range is long.
type pieces struct {
	start, end int64 // offsets in the stream
	blocks     [][]byte
	skip       int    // bytes of the first block that are before start
	spare      []byte // a block to use again
}

// add appends bytes, which it copies.
func (p *pieces) add(data []byte) {
	p.end += int64(len(data))
	for len(data) > 0 {
		last := len(p.blocks) - 1
		if last < 0 || len(p.blocks[last]) == pieceSize {
			p.blocks = append(p.blocks, p.block())
			last++
		}
		n := min(pieceSize-len(p.blocks[last]), len(data))
		p.blocks[last] = append(p.blocks[last], data[:n]...)
		data = data[n:]
	}
}

// block returns an empty block: the first one starts small, as most output is.
func (p *pieces) block() []byte {
	b := p.spare
	p.spare = nil
	if b == nil && p.start+pieceSize <= p.end {
		b = make([]byte, 0, pieceSize)
	}
	return b
}

// drop lets go of what is before an offset.
func (p *pieces) drop(before int64) {
	n := min(before, p.end) - p.start
	if n <= 0 {
		return
	}
	p.start += n
	p.skip += int(n)
	for len(p.blocks) > 0 && p.skip >= len(p.blocks[0]) {
		p.skip -= len(p.blocks[0])
		p.spare = p.blocks[0][:0]
		p.blocks[0] = nil
		p.blocks = p.blocks[1:]
	}
	if p.size() == 0 {
		p.blocks, p.spare = nil, nil
	}
}

// copy returns at most limit bytes from an offset on that is not before start.
func (p *pieces) copy(from int64, limit int) []byte {
	data := make([]byte, 0, min(p.end-from, int64(limit)))
	skip := int(from-p.start) + p.skip
	for _, b := range p.blocks {
		if skip >= len(b) {
			skip -= len(b)
			continue
		}
		data = append(data, b[skip:][:min(len(b)-skip, limit-len(data))]...)
		skip = 0
		if len(data) == limit {
			break
		}
	}
	return data
}

func (p *pieces) size() int64 { return p.end - p.start }
