import assert from 'node:assert/strict'
import { test } from 'node:test'
import type {
  KeyValueDatabases,
  KeyValuePair,
  KeyValueRange,
  KeyValueStore,
} from '../../src/store/disk/key-value-store.ts'

/**
 * The implementation under test. `act` runs a test in an environment in which its promises make
 * progress.
 */
export type KeyValueDatabasesUnderTest = {
  readonly databases: KeyValueDatabases
  readonly act: (body: () => Promise<void>) => Promise<void>
  readonly destroy: () => Promise<void>
}

/** The tests that every implementation of KeyValueStore passes. */
export function keyValueStoreSuite(name: string, make: () => Promise<KeyValueDatabasesUnderTest>): void {
  const check = (sentence: string, body: (databases: KeyValueDatabases) => Promise<void>): void => {
    void test(`${name}: ${sentence}`, async () => {
      const { databases, act, destroy } = await make()
      try {
        await act(() => body(databases))
      } finally {
        await destroy()
      }
    })
  }
  suiteOfReads(check)
  suiteOfWrites(check)
  suiteOfDatabases(check)
}

type Check = (sentence: string, body: (databases: KeyValueDatabases) => Promise<void>) => void

function suiteOfReads(check: Check): void {
  check('a missing key is read as null, at its position among the requested keys', async (databases) => {
    const store = await databases.open('db-0')
    await store.write([{ kind: 'put', key: bytes(1), value: bytes(9) }])
    assert.deepEqual(plain(await store.getMany([bytes(2), bytes(1), bytes(3)])), [null, [9], null])
    await store.close()
  })

  check('a range includes its start but not its end, ascending by bytes', async (databases) => {
    const store = await databases.open('db-0')
    for (const key of [[255], [1], [1, 0], [2], [0, 200], [128]]) {
      await store.write([{ kind: 'put', key: bytes(...key), value: bytes(7) }])
    }
    assert.deepEqual(await keysBetween(store, bytes(1), bytes(255)), [[1], [1, 0], [2], [128]])
    assert.deepEqual(await keysBetween(store, bytes(3), bytes(4)), [])
    await store.close()
  })

  check('a range of large values is returned in pieces without gaps', async (databases) => {
    const store = await databases.open('db-0')
    const value = new Uint8Array(100_000).fill(5)
    const keys = Array.from({ length: 20 }, (_, at) => bytes(3, at))
    await store.write(keys.map((key) => ({ kind: 'put', key, value })))
    const snapshot = store.snapshot()
    const range = snapshot.range(bytes(3), bytes(4))
    const first = await range.next()
    assert.ok(first.length >= 1)
    assert.ok(first.length < 20)
    const rest = await drain(range)
    assert.equal(first.length + rest.length, 20)
    await range.close()
    await snapshot.close()
    await store.close()
  })

  check('a snapshot does not see what is written after it', async (databases) => {
    const store = await databases.open('db-0')
    await store.write([
      { kind: 'put', key: bytes(1), value: bytes(1) },
      { kind: 'put', key: bytes(2), value: bytes(1) },
    ])
    const snapshot = store.snapshot()
    await store.write([
      { kind: 'put', key: bytes(1), value: bytes(2) },
      { kind: 'delete', key: bytes(2) },
      { kind: 'put', key: bytes(3), value: bytes(2) },
    ])
    const range = snapshot.range(bytes(0), bytes(9))
    assert.deepEqual(
      (await drain(range)).map(([key, value]) => [...key, ...value]),
      [
        [1, 1],
        [2, 1],
      ],
    )
    await range.close()
    await snapshot.close()
    await store.close()
  })
}

function suiteOfWrites(check: Check): void {
  check('the last change of a key in a batch takes effect', async (databases) => {
    const store = await databases.open('db-0')
    await store.write([
      { kind: 'put', key: bytes(1), value: bytes(1) },
      { kind: 'delete', key: bytes(1) },
      { kind: 'put', key: bytes(2), value: bytes(1) },
      { kind: 'put', key: bytes(2), value: bytes(2) },
    ])
    assert.deepEqual(plain(await store.getMany([bytes(1), bytes(2)])), [null, [2]])
    await store.close()
  })

  check('a read during a batch sees all of it or nothing', async (databases) => {
    const store = await databases.open('db-0')
    const changes = Array.from({ length: 40 }, (_, at) => {
      return { kind: 'put', key: bytes(at), value: new Uint8Array(2_000).fill(at) } as const
    })
    const seen = new Set([await countOf(store)])
    let over = false
    const writing = store.write(changes).finally(() => (over = true))
    // Each read takes about as long as a write of one change.
    while (!over) seen.add(await countOf(store))
    await writing
    seen.add(await countOf(store))
    assert.deepEqual([...seen], [0, 40])
    await store.close()
  })

  check('batches take effect in the order of the calls', async (databases) => {
    const store = await databases.open('db-0')
    const writes = Array.from({ length: 30 }, (_, at) =>
      store.write([{ kind: 'put', key: bytes(1), value: bytes(at) }]),
    )
    await Promise.all(writes)
    assert.deepEqual(plain(await store.getMany([bytes(1)])), [[29]])
    await store.close()
  })

  check('a compaction keeps every value, and is done once no snapshot is open', async (databases) => {
    const store = await databases.open('db-0')
    for (const at of [1, 2, 3]) await store.write([{ kind: 'put', key: bytes(at), value: bytes(at) }])
    await store.write([{ kind: 'delete', key: bytes(2) }])
    await store.write([{ kind: 'put', key: bytes(3), value: bytes(4) }])
    const snapshot = store.snapshot()
    await store.compact()
    assert.deepEqual((await drain(snapshot.range(bytes(0), bytes(255)))).length, 2)
    await snapshot.close()
    assert.equal(await store.compact(), true)
    assert.deepEqual(await keysBetween(store, bytes(0), bytes(255)), [[1], [3]])
    await store.close()
    const again = await databases.open('db-0')
    assert.deepEqual(plain(await again.getMany([bytes(1), bytes(2), bytes(3)])), [[1], null, [4]])
    await again.close()
  })

  check('written data is readable after close and open', async (databases) => {
    const store = await databases.open('db-0')
    await store.write([{ kind: 'put', key: bytes(1), value: bytes(1) }])
    await store.close()
    const again = await databases.open('db-0')
    assert.deepEqual(plain(await again.getMany([bytes(1)])), [[1]])
    await again.close()
  })

  check('only the bytes of a view into a larger buffer are written', async (databases) => {
    const store = await databases.open('db-0')
    const large = Uint8Array.from({ length: 50 }, (_, at) => at)
    await store.write([{ kind: 'put', key: large.subarray(10, 12), value: large.subarray(20, 23) }])
    assert.deepEqual(plain(await store.getMany([bytes(10, 11)])), [[20, 21, 22]])
    await store.close()
  })
}

function suiteOfDatabases(check: Check): void {
  check('databases with different names are separate', async (databases) => {
    const [first, second] = [await databases.open('db-0'), await databases.open('db-5')]
    await first.write([{ kind: 'put', key: bytes(1), value: bytes(1) }])
    assert.deepEqual(plain(await second.getMany([bytes(1)])), [null])
    assert.deepEqual([...(await databases.list())].sort(), ['db-0', 'db-5'])
    await first.close()
    await second.close()
  })

  check('a quarantined database is not listed, and its name can be used again', async (databases) => {
    const first = await databases.open('db-0')
    await first.write([{ kind: 'put', key: bytes(1), value: bytes(1) }])
    await first.close()
    await databases.quarantine('db-0')
    await databases.quarantine('db-9')
    assert.deepEqual(await databases.list(), [])
    const again = await databases.open('db-0')
    assert.deepEqual(plain(await again.getMany([bytes(1)])), [null])
    await again.write([{ kind: 'put', key: bytes(1), value: bytes(2) }])
    await again.close()
    await databases.quarantine('db-0')
    await databases.discardQuarantined()
    await databases.discardQuarantined()
    assert.deepEqual(await databases.list(), [])
  })

  check(
    'a quarantine mark is removed with its database and does not mark the next database of that name',
    async (databases) => {
      assert.deepEqual(await databases.quarantineMarks(), new Map())
      const store = await databases.open('db-7')
      await databases.markQuarantined('db-7', 'first')
      await databases.markQuarantined('db-7', 'again')
      await databases.markQuarantined('db-8', 'not there')
      assert.deepEqual([...(await databases.quarantineMarks())].sort(), [
        ['db-7', 'again'],
        ['db-8', 'not there'],
      ])
      assert.deepEqual(await databases.list(), ['db-7'])
      await store.close()
      for (const name of ['db-7', 'db-8', 'db-9']) await databases.quarantine(name)
      assert.deepEqual([...(await databases.list()), ...(await databases.quarantineMarks())], [])
    },
  )

  check(
    'a destroyed database is not listed, and destroying a missing one is not an error',
    async (databases) => {
      const store = await databases.open('db-0')
      await store.write([{ kind: 'put', key: bytes(1), value: bytes(1) }])
      await store.close()
      await databases.destroy('db-0')
      await databases.destroy('db-9')
      assert.deepEqual(await databases.list(), [])
      const again = await databases.open('db-0')
      assert.deepEqual(plain(await again.getMany([bytes(1)])), [null])
      await again.close()
    },
  )
}

function bytes(...values: number[]): Uint8Array {
  return Uint8Array.from(values)
}

function plain(values: readonly (Uint8Array | null)[]): (number[] | null)[] {
  return values.map((value) => (value === null ? null : [...value]))
}

async function countOf(store: KeyValueStore): Promise<number> {
  return (await keysBetween(store, bytes(0), bytes(255))).length
}

async function keysBetween(store: KeyValueStore, from: Uint8Array, to: Uint8Array): Promise<number[][]> {
  const snapshot = store.snapshot()
  const range = snapshot.range(from, to)
  const pairs = await drain(range)
  await range.close()
  await snapshot.close()
  return pairs.map(([key]) => [...key])
}

async function drain(range: KeyValueRange): Promise<KeyValuePair[]> {
  const all: KeyValuePair[] = []
  for (let pairs = await range.next(); pairs.length > 0; pairs = await range.next()) all.push(...pairs)
  return all
}
