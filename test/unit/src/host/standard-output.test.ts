/*
 * Goal: standard output never blocks the thread: lines that its reader does not take wait in order,
 * and beyond the bound they are lost, counted and reported; written lines arrive as far as the
 * reader reads, also at the end of the process.
 * Method: a pipe of a chosen size that the test reads; a real one whose reader stands still.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { StandardOutput } from '../../../../src/host/standard-output.ts'

class Pipe {
  space = 10
  broken = false
  text = ''
  sleeps = 0
  readonly lost: number[] = []
  readonly #later: (() => void)[] = []
  readonly output = new StandardOutput({
    tryWrite: (bytes) => {
      if (this.broken) throw new Error('EPIPE')
      const taken = Math.max(0, Math.min(this.space, bytes.byteLength))
      this.space -= taken
      this.text += Buffer.from(bytes.subarray(0, taken)).toString()
      return taken
    },
    later: (_, action) => void this.#later.push(action),
    sleep: () => {
      this.sleeps++
      this.space++
    },
    waitingBytesMax: 20,
    onLinesDropped: (lost) => {
      this.lost.push(lost)
      this.output.write('!\n')
    },
  })

  /** The reader takes some bytes, and the write is retried. */
  read(space: number): void {
    this.space += space
    const due = this.#later.splice(0)
    assert.ok(due.length <= 1, 'it is tried once at a time')
    for (const action of due) action()
  }
}

void test('a line is written at once where there is space', () => {
  const pipe = new Pipe()
  pipe.output.write('one\n')
  assert.equal(pipe.text, 'one\n')
})

void test('lines without space wait, in order and whole, whatever their writer', async () => {
  const pipe = new Pipe()
  pipe.output.write('123456789012\n')
  const appended = pipe.output.append(Buffer.from('appended, longer than lines may wait\n'))
  pipe.output.write('after\n')
  assert.equal(pipe.text, '1234567890')
  pipe.read(5)
  pipe.read(0)
  pipe.read(100)
  await appended
  assert.equal(pipe.text, '123456789012\nappended, longer than lines may wait\nafter\n')
  assert.deepEqual([pipe.output.lost, pipe.lost], [0, []])
})

void test('lines beyond the limit are dropped, counted, and reported when there is space', () => {
  const pipe = new Pipe()
  pipe.space = 0
  for (const line of ['a', 'b', 'c', 'd']) pipe.output.write(`${line.repeat(7)}\n`)
  assert.equal(pipe.output.lost, 2)
  pipe.read(3)
  assert.deepEqual(pipe.lost, [], 'the pipe is still full')
  pipe.read(6)
  assert.deepEqual(pipe.lost, [2])
  pipe.read(100)
  assert.deepEqual(pipe.lost, [2], 'once')
  assert.equal(pipe.text, 'aaaaaaa\nbbbbbbb\n!\n')
})

void test('without a reader lines are dropped and writers get an error; a later line is written', async () => {
  const pipe = new Pipe()
  pipe.space = 0
  pipe.output.write('waits\n')
  const appended = pipe.output.append(Buffer.from('x\n'))
  pipe.broken = true
  pipe.read(0)
  await assert.rejects(appended, /EPIPE/)
  pipe.output.write('lost too\n')
  assert.equal(pipe.output.lost, 2)
  pipe.broken = false
  pipe.space = 100
  pipe.output.write('again\n')
  assert.equal(pipe.text, 'again\n!\n')
  assert.deepEqual(pipe.lost, [2])
})

void test('draining waits for the reader, and no longer than its time limit', () => {
  const pipe = new Pipe()
  pipe.output.write('1234567890 end\n')
  pipe.output.drain(1000)
  assert.equal(pipe.text, '1234567890 end\n')
  pipe.space = -1_000_000
  pipe.output.write('never\n')
  pipe.sleeps = 0
  pipe.output.drain(1000)
  assert.equal(pipe.sleeps, 20, 'a second')
})

void test('a reader of a real pipe that stops reading blocks no writer, and gets whole lines when it reads again', async () => {
  const from = new URL('../../../../src/host/standard-output.js', import.meta.url).href
  const program = `
    import { openStandardOutput } from ${JSON.stringify(from)}
    const output = openStandardOutput({ waitingBytesMax: 200_000, onLinesDropped: (lost) => output.write('lost ' + lost + '\\n') })
    process.on('exit', () => output.drain(30_000))
    for (let n = 0; n < 4000; n++) output.write(String(n).padEnd(99) + '\\n')
    process.on('message', () => process.exit(0))
    process.send(output.lost)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    timeout: 60_000,
  })
  const [lost] = (await once(child, 'message')) as [number]
  assert.ok(lost > 0 && lost < 4000, `${lost} lost`)
  let text = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  child.send('end')
  await once(child, 'close')
  const lines = text.split('\n')
  assert.equal(lines.pop(), '')
  assert.deepEqual(
    lines.slice(0, 4000 - lost).map((line) => Number(line)),
    Array.from({ length: 4000 - lost }, (_, n) => n),
  )
})
