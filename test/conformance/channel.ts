import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Channel } from '../../raft/ports.ts'

export type Parcel =
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'bytes'; readonly value: Uint8Array }
  | { readonly kind: 'shape'; readonly value: unknown }

/** Both ends of the channel under test. Both are on the thread of the test. */
export type ChannelUnderTest = {
  readonly make: () => readonly [Channel<Parcel, Parcel>, Channel<Parcel, Parcel>]
}

const number = (value: number): Parcel => ({ kind: 'number', value })

/** Collects batches until `count` messages came. */
function receive(end: Channel<Parcel, Parcel>, count: number): Promise<readonly (readonly Parcel[])[]> {
  return new Promise((resolve) => {
    const batches: (readonly Parcel[])[] = []
    end.onMessages((messages) => {
      batches.push(messages)
      if (batches.flat().length >= count) resolve(batches)
    })
  })
}

function later(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
}

export function channelSuite(name: string, { make }: ChannelUnderTest): void {
  const on = (
    sentence: string,
    body: (a: Channel<Parcel, Parcel>, b: Channel<Parcel, Parcel>) => Promise<void>,
  ): void => {
    void test(`${name}: ${sentence}`, async () => {
      const [a, b] = make()
      try {
        await body(a, b)
      } finally {
        a.close()
        b.close()
      }
    })
  }
  order(on)
  contents(on)
  endings(on)
}

type On = (
  sentence: string,
  body: (a: Channel<Parcel, Parcel>, b: Channel<Parcel, Parcel>) => Promise<void>,
) => void

function order(on: On): void {
  on('all messages arrive, once and in order, over many turns', async (a, b) => {
    const arrived = receive(b, 1000)
    for (let value = 0; value < 1000; value++) {
      a.post(number(value))
      if (value % 37 === 0) await later()
    }
    const values = (await arrived).flat().map((parcel) => parcel.value)
    assert.deepEqual(
      values,
      Array.from({ length: 1000 }, (_, at) => at),
    )
  })

  on('the posts of one turn arrive as one batch', async (a, b) => {
    const arrived = receive(b, 100)
    for (let value = 0; value < 100; value++) a.post(number(value))
    assert.equal((await arrived).length, 1)
  })

  on('both directions work at the same time', async (a, b) => {
    const atB = receive(b, 50)
    const atA = receive(a, 50)
    for (let value = 0; value < 50; value++) {
      a.post(number(value))
      b.post(number(-value))
    }
    assert.equal((await atB).flat().length, 50)
    assert.equal((await atA).flat().length, 50)
  })

  on('no handler runs within a post', async (a, b) => {
    let inPost = false
    const arrived = new Promise<void>((resolve) => {
      b.onMessages(() => {
        assert.equal(inPost, false)
        resolve()
      })
    })
    inPost = true
    a.post(number(1))
    inPost = false
    await arrived
  })

  on('messages posted by a handler arrive', async (a, b) => {
    b.onMessages((messages) => {
      for (const parcel of messages) if (parcel.kind === 'number') b.post(number(parcel.value + 1))
    })
    const answers = new Promise<number>((resolve) => {
      a.onMessages((messages) => {
        for (const parcel of messages) {
          if (parcel.kind !== 'number') continue
          if (parcel.value >= 200) resolve(parcel.value)
          else a.post(number(parcel.value + 1))
        }
      })
    })
    a.post(number(1))
    assert.equal(await answers, 200)
  })

  on('messages posted before the handler is set are not lost', async (a, b) => {
    a.post(number(1))
    await later()
    a.post(number(2))
    const arrived = receive(b, 3)
    a.post(number(3))
    assert.deepEqual(
      (await arrived).flat().map((parcel) => parcel.value),
      [1, 2, 3],
    )
  })
}

function contents(on: On): void {
  on('bytes arrive as they were posted, and later posts do not change them', async (a, b) => {
    const sent = Uint8Array.from({ length: 5000 }, (_, at) => (at * 7) & 0xff)
    const view = sent.subarray(100, 4000)
    const arrived = receive(b, 3)
    a.post({ kind: 'bytes', value: view })
    a.post({ kind: 'bytes', value: new Uint8Array(0) })
    a.post({ kind: 'bytes', value: sent })
    const values = (await arrived).flat().map((parcel) => parcel.value)
    for (let turn = 0; turn < 20; turn++) {
      a.post({ kind: 'bytes', value: new Uint8Array(3000).fill(255) })
      await later()
    }
    for (const [at, expected] of [view, new Uint8Array(0), sent].entries()) {
      const value = values[at]
      assert.ok(value instanceof Uint8Array)
      assert.deepEqual(new Uint8Array(value), new Uint8Array(expected))
    }
    assert.equal(sent[99], (99 * 7) & 0xff)
  })

  on('plain data keeps its shape', async (a, b) => {
    const value = {
      nothing: null,
      flags: [true, false],
      numbers: [0, -1, 1.5, 255, 65_536, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 40 + 1, Number.MAX_SAFE_INTEGER],
      text: ['', 'ascii', 'ünïcödé 漢字 🙂', 'x'.repeat(70_000)],
      nested: { list: [{ deep: [[]] }], empty: {} },
    }
    const arrived = receive(b, 1)
    a.post({ kind: 'shape', value })
    assert.deepEqual((await arrived).flat(), [{ kind: 'shape', value }])
  })

  on('a message of many megabytes arrives whole', async (a, b) => {
    const sent = Uint8Array.from({ length: 9_000_000 }, (_, at) => (at ^ (at >>> 8)) & 0xff)
    const arrived = receive(b, 2)
    a.post({ kind: 'bytes', value: sent })
    a.post(number(1))
    const [first] = (await arrived).flat()
    assert.ok(first?.kind === 'bytes')
    assert.equal(Buffer.compare(first.value, sent), 0)
  })
}

function endings(on: On): void {
  on('messages posted before close arrive, messages posted after it do not', async (a, b) => {
    const arrived = receive(b, 2)
    a.post(number(1))
    a.post(number(2))
    a.close()
    a.post(number(3))
    const batches = await arrived
    await later()
    assert.equal(batches.flat().length, 2)
  })

  on('a closed end receives nothing', async (a, b) => {
    let received = 0
    b.onMessages((messages) => {
      received += messages.length
    })
    b.close()
    a.post(number(1))
    await later()
    assert.equal(received, 0)
  })

  on('closing twice has no further effect', async (a) => {
    a.close()
    a.close()
  })
}
