/*
 * Goal: the files of a member about itself and its peers read back as written, or are rejected in
 * one line that names the file. Method: the files changed at every byte, truncated to every length,
 * and replaced by something that is not a file.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { CodedError } from '../../../../base/coded-error.ts'
import { logIndex, nodeId } from '../../../../raft/index.ts'
import { FileClusterRecord } from '../../../../src/data-dir/cluster-record-file.ts'
import { claimDirectory, joinedIdentity, writeIdentity } from '../../../../src/data-dir/member-identity.ts'
import type { MemberIdentity } from '../../../../src/data-dir/member-identity.ts'
import { FilePeerBook } from '../../../../src/data-dir/peer-book-file.ts'
import { memberInfo } from '../../../../fixtures/fake-consensus.ts'

const identity: MemberIdentity = { cluster: 'c', member: 'n1', id: nodeId(123_456), apiDomain: 'orch.io' }
const peers = [
  { peer: nodeId(5), logId: '00ff00ff00ff00ff' },
  { peer: nodeId(77_201_249_476_235), logId: 'abcdef0123456789' },
]

const cluster = {
  ...{ clusterId: 'c0ffee00'.repeat(4), founded: true },
  founders: peers,
}

type Kept = {
  readonly file: string
  readonly write: (directory: string) => void
  readonly read: (directory: string) => unknown
}

const kept: readonly Kept[] = [
  {
    file: 'member.json',
    write: (directory) => claimDirectory(directory, identity),
    read: (directory) => claimDirectory(directory, identity),
  },
  {
    file: 'peers.json',
    write: (directory) => {
      const book = new FilePeerBook(directory)
      const all = new Set(peers.map(({ peer }) => peer))
      for (const peer of peers) book.record(peer, all)
    },
    read: (directory) => assert.deepEqual(new FilePeerBook(directory).known(), peers),
  },
  {
    file: 'cluster.json',
    write: (directory) => {
      new FileClusterRecord(directory).write({ ...cluster, founded: false })
      new FileClusterRecord(directory).write(cluster)
    },
    read: (directory) => assert.deepEqual(new FileClusterRecord(directory).read(), cluster),
  },
]

function folder(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'orch-files-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** @returns whether it was refused, in a line that contains `path` */
function refuses(read: () => unknown, path: string, what: string): boolean {
  try {
    read()
    return false
  } catch (cause) {
    assert.ok(cause instanceof CodedError, `${what}: ${String(cause)}`)
    assert.doesNotMatch(cause.message, /\n/)
    assert.ok(cause.message.includes(path), `${what}: ${cause.message}`)
    return true
  }
}

for (const { file, write, read } of kept) {
  void test(`${file}: every byte changed and every shorter length is rejected, or means the same`, (t) => {
    const directory = folder(t)
    write(directory)
    read(directory)
    const path = join(directory, file)
    const whole = readFileSync(path)
    const before = readdirSync(directory)
    let refused = 0
    for (let at = 0; at < whole.length; at++) {
      for (const mask of [1, 0x20, 0xff]) {
        const changed = Buffer.from(whole)
        changed[at] = (changed[at] ?? 0) ^ mask
        writeFileSync(path, changed)
        if (refuses(() => read(directory), directory, `byte ${at} changed by ${mask}`)) refused++
        assert.deepEqual(readFileSync(path), changed, 'left as it was found')
      }
    }
    assert.ok(refused > 2 * whole.length)
    // Only the final white space may be missing.
    for (let length = 0; length < whole.length - 1; length++) {
      writeFileSync(path, whole.subarray(0, length))
      assert.ok(refuses(() => read(directory), path, `cut to ${length}`))
    }
    assert.deepEqual(readdirSync(directory), before)
  })

  void test(`${file}: a newer format, malformed content, a directory and a symbolic link are refused`, (t) => {
    const directory = folder(t)
    const path = join(directory, file)
    writeFileSync(path, JSON.stringify({ format: 2 }))
    assert.ok(refuses(() => read(directory), path, 'newer'))
    assert.throws(
      () => read(directory),
      /is of format 2, this program knows 1: use the program that wrote it/,
    )
    for (const text of ['null', '[]', '"x"', '{}', '{"format":1}', '\0'.repeat(100)]) {
      writeFileSync(path, text)
      assert.ok(refuses(() => read(directory), directory, text))
    }
    const others: readonly (() => void)[] = [
      () => mkdirSync(path),
      () => symlinkSync(file, path),
      () => symlinkSync('nowhere', path),
      () => symlinkSync('/dev/zero', path),
    ]
    for (const other of others) {
      rmSync(path, { recursive: true })
      other()
      assert.ok(refuses(() => read(directory), path, String(other)))
    }
  })
}

void test('member.json of a member that joined: whole, or refused in a line that names it', (t) => {
  const directory = folder(t)
  const successor = { ...memberInfo(4, 'n4'), replaces: nodeId(3), addedMs: 1_700_000_000_000 }
  const joined = {
    clusterId: 'c0'.repeat(16),
    configurationIndex: logIndex(7),
    members: [memberInfo(1, 'n1'), successor],
  }
  const whole: MemberIdentity = { ...identity, life: 'ab12', joined }
  writeIdentity(directory, whole)
  assert.deepEqual(joinedIdentity(directory), whole)
  const path = join(directory, 'member.json')
  const bytes = readFileSync(path)
  let refused = 0
  for (let at = 0; at < bytes.length; at++) {
    for (const mask of [1, 0x20, 0xff]) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] ?? 0) ^ mask
      writeFileSync(path, changed)
      const what = `byte ${at} changed by ${mask}`
      let read: MemberIdentity | null = null
      if (refuses(() => (read = joinedIdentity(directory)), path, what)) refused++
      // A file of another format is not that of a joined member.
      else assert.equal(read, null, what)
    }
  }
  assert.ok(refused > 2 * bytes.length)
  for (let length = 0; length < bytes.length - 1; length++) {
    writeFileSync(path, bytes.subarray(0, length))
    assert.ok(refuses(() => joinedIdentity(directory), path, `cut to ${length}`))
  }
})

void test('member.json: an error names the difference and the remedy', (t) => {
  const directory = folder(t)
  claimDirectory(directory, identity)
  const advice = (other: Partial<MemberIdentity>): string => {
    try {
      claimDirectory(directory, { ...identity, ...other })
    } catch (cause) {
      return cause instanceof Error ? cause.message : ''
    }
    return 'taken'
  }
  assert.match(advice({ member: 'n2' }), /belongs to member n1, not n2: .* or --name n1$/)
  assert.match(advice({ cluster: 'd' }), /belongs to cluster c, not d: .* or --cluster-name c$/)
  // No flag sets an id.
  assert.match(
    advice({ id: nodeId(5) }),
    /member\.json contains id 123456, but .* has 5: restore an undamaged copy/,
  )
})

void test('a peer book with a number that no member has is damaged, although its checksum is right', (t) => {
  const directory = folder(t)
  const path = join(directory, 'peers.json')
  const written = (peer: unknown): string => {
    const sha256 = createHash('sha256')
      .update(`${String(peer)} ff00\n`)
      .digest('hex')
    return JSON.stringify({ format: 1, sha256, peers: [{ peer, logId: 'ff00' }] })
  }
  writeFileSync(path, written(5))
  assert.deepEqual(new FilePeerBook(directory).known(), [{ peer: 5, logId: 'ff00' }])
  for (const peer of [0, -1, 1.5, 2 ** 53, '5', null]) {
    writeFileSync(path, written(peer))
    assert.ok(
      refuses(() => new FilePeerBook(directory), path, String(peer)),
      String(peer),
    )
  }
})
