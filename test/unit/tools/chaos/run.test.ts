/*
 * Goal: a run executes its plan, never applies two faults to one member at once, detects members
 * that do not recover, and reverts every fault.
 * Method: a cluster that only records what is done to it, on a manual clock.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ChaosError } from '../../../../tools/chaos/errors.ts'
import { faultKinds } from '../../../../tools/chaos/fault.ts'
import type { Fault } from '../../../../tools/chaos/fault.ts'
import type { LinkRule } from '../../../../tools/chaos/links/rules.ts'
import { planChaos } from '../../../../tools/chaos/plan.ts'
import { runChaos } from '../../../../tools/chaos/run.ts'
import type { CompletedFault } from '../../../../tools/chaos/run.ts'
import type { ChaosTarget, DiskFault } from '../../../../tools/chaos/target.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

class Recorded implements ChaosTarget {
  readonly members: readonly string[]
  readonly down = new Set<string>()
  readonly paused = new Set<string>()
  readonly disks = new Map<string, DiskFault>()
  readonly clocks = new Map<string, number>()
  readonly starts: string[] = []
  readonly learners = new Set<string>()
  added: string | null = null
  rules: readonly LinkRule[] = []
  affectedMost = 0
  led: string | null = 'n2'
  neverReady = ''
  linksFail = false

  constructor(count: number) {
    this.members = Array.from({ length: count }, (_, at) => `n${at + 1}`)
  }

  /** The members with a fault. One whose links to most others have a rule counts as cut. */
  get affected(): ReadonlySet<string> {
    const cut = this.members.filter((name) => {
      const others = this.rules.filter(({ from, to }) => from === name || to === name)
      const ends = new Set(others.flatMap(({ from, to }) => [from, to]))
      return 2 * (ends.size - 1) > this.members.length - 1
    })
    return new Set([
      ...this.down,
      ...this.paused,
      ...this.disks.keys(),
      ...this.clocks.keys(),
      ...this.learners,
      ...cut,
      ...(this.added === null ? [] : [this.added]),
    ])
  }

  leader(): Promise<string | null> {
    return Promise.resolve(this.led)
  }
  isReady(member: string): Promise<boolean> {
    return Promise.resolve(member !== this.neverReady && this.isRunning(member) && !this.paused.has(member))
  }
  isRunning(member: string): boolean {
    return !this.down.has(member)
  }
  start(member: string): void {
    assert.ok(this.down.delete(member), `${member} ran already`)
    this.starts.push(member)
  }
  end(member: string): void {
    this.down.add(member)
    this.#look()
  }
  pause(member: string): void {
    this.paused.add(member)
    this.#look()
  }
  resume(member: string): void {
    this.paused.delete(member)
  }
  setLinks(rules: readonly LinkRule[]): Promise<void> {
    if (this.linksFail) return Promise.reject(new ChaosError('links', 'the proxies ended'))
    this.rules = rules
    this.#look()
    return Promise.resolve()
  }
  setDisk(member: string, spec: DiskFault | null): void {
    if (spec === null) this.disks.delete(member)
    else this.disks.set(member, spec)
    this.#look()
  }
  setClock(member: string, skewMs: number): void {
    if (skewMs === 0) this.clocks.delete(member)
    else this.clocks.set(member, skewMs)
    this.#look()
  }

  setRole(member: string, role: 'voter' | 'learner'): Promise<void> {
    if (role === 'voter') this.learners.delete(member)
    else this.learners.add(member)
    this.#look()
    return Promise.resolve()
  }
  addMember(): Promise<string> {
    this.added = 'n9'
    return Promise.resolve('n9')
  }
  removeMember(name: string): Promise<void> {
    assert.equal(name, this.added)
    this.added = null
    return Promise.resolve()
  }

  #look(): void {
    this.affectedMost = Math.max(this.affectedMost, this.affected.size)
  }
}

type Ran = { readonly target: Recorded; readonly done: readonly CompletedFault[]; readonly error: unknown }

/** @param interruption runs once after that many ms */
async function ran(
  plan: readonly Fault[],
  target: Recorded,
  interruption?: { readonly afterMs: number; readonly does: (stop: AbortController) => void },
): Promise<Ran> {
  const clock = new ManualClock()
  const stop = new AbortController()
  const done: CompletedFault[] = []
  if (interruption !== undefined) clock.after(interruption.afterMs, () => interruption.does(stop))
  let error: unknown = null
  let ended = false
  const run = runChaos({
    ...{ plan, target, clock, signal: stop.signal, durationMs: 600_000 },
    onBegin: () => undefined,
    onDone: (one) => done.push(one),
  })
    .catch((cause: unknown) => {
      error = cause
    })
    .finally(() => {
      ended = true
    })
  for (let turn = 0; turn < 20_000 && !ended; turn++) await clock.advance(50)
  await run
  return { target, done, error }
}

function fault(spec: Fault['spec'], target: string, change: Partial<Fault> = {}): Fault {
  return { atMs: 1000, forMs: 2000, target, lane: 0, spec, ...change }
}

void test('every plan is executed with at most a minority affected, and all faults are reverted', async () => {
  for (let seed = 1; seed <= 25; seed++) {
    const target = new Recorded(seed % 2 === 0 ? 3 : 5)
    const kinds = faultKinds.filter((kind) => kind !== 'outage')
    const plan = planChaos({ seed, durationMs: 120_000, members: target.members, kinds })
    const { done, error } = await ran(plan, target)
    assert.equal(error, null, `seed ${seed}`)
    assert.equal(done.length, plan.length, `seed ${seed}`)
    assert.ok(target.affectedMost <= Math.floor((target.members.length - 1) / 2), `seed ${seed}`)
    assert.deepEqual([...target.affected], [], `seed ${seed}`)
    assert.deepEqual(target.rules, [])
  }
})

void test('two concurrent faults of the leader target two members', async () => {
  const pause = { kind: 'pause' } as const
  const { done } = await ran([fault(pause, 'leader'), fault(pause, 'leader', { lane: 1 })], new Recorded(5))
  assert.deepEqual(done.map(({ target }) => target).sort(), ['n2', 'n3'])
})

void test('an outage ends and restarts all members', async () => {
  const { target, done } = await ran([fault({ kind: 'outage' }, 'all', { lane: null })], new Recorded(3))
  assert.deepEqual([target.affectedMost, target.starts, done.length], [3, ['n1', 'n2', 'n3'], 1])
})

void test('an interrupt reverts a fault of any kind', async () => {
  for (const kind of faultKinds) {
    const target = new Recorded(3)
    const plan = planChaos({ seed: 3, durationMs: 60_000, members: target.members, kinds: [kind] })
    let found = 0
    const { done, error } = await ran(plan, target, {
      afterMs: (plan[0]?.atMs ?? 0) + 60,
      does: (stop) => {
        found = target.affected.size + target.rules.length + target.starts.length
        stop.abort()
      },
    })
    assert.equal(error, null, kind)
    assert.ok(found > 0, `${kind} was being done`)
    assert.equal(done.length, 1, kind)
    assert.deepEqual([...target.affected], [], kind)
    assert.deepEqual([...target.rules], [], kind)
  }
})

void test('a member that does not become ready ends the run, and the faults are reverted', async () => {
  const target = new Recorded(3)
  target.neverReady = 'n2'
  const { error } = await ran([fault({ kind: 'pause' }, 'n2')], target)
  assert.match(String(error), /n2 is not ready 60 s after the fault/)
  assert.deepEqual([...target.affected], [])
})

void test('a member that exits unexpectedly is reported and restarted', async () => {
  const target = new Recorded(3)
  const does = (): unknown => target.down.add('n3')
  const { error } = await ran([fault({ kind: 'pause' }, 'n1')], target, { afterMs: 1500, does })
  assert.match(String(error), /n3 ended unexpectedly/)
  assert.deepEqual(target.starts, ['n3'])
})

void test('a member that exits again after it recovered from a fault is reported', async () => {
  const restart = { kind: 'rolling-restart' } as const
  for (const first of [fault({ kind: 'kill' }, 'n1'), fault(restart, 'all', { lane: null })]) {
    const target = new Recorded(3)
    const plan = [first, fault({ kind: 'pause' }, 'n1', { atMs: 8000 })]
    const does = (): unknown => target.down.add('n1')
    const { error } = await ran(plan, target, { afterMs: 8500, does })
    assert.match(String(error), /n1 ended unexpectedly/, first.spec.kind)
    assert.deepEqual([...target.down], [], first.spec.kind)
  }
})

void test('a member that exits before its turn of a rolling restart is reported', async () => {
  const target = new Recorded(3)
  target.neverReady = 'n1'
  const does = (): unknown => target.down.add('n3') && (target.neverReady = '')
  const plan = [fault({ kind: 'rolling-restart' }, 'all', { lane: null })]
  const { error } = await ran(plan, target, { afterMs: 3000, does })
  assert.match(String(error), /n3 ended unexpectedly/)
})

void test('a fault that no longer fits into the run is skipped, and a later shorter one is run', async () => {
  const target = new Recorded(3)
  const plan = [
    fault({ kind: 'kill' }, 'n1', { atMs: 590_000, forMs: 11_000 }),
    fault({ kind: 'pause' }, 'n2', { atMs: 592_000, forMs: 2000 }),
  ]
  const { done, error } = await ran(plan, target)
  assert.equal(error, null)
  assert.deepEqual(
    done.map((one) => one.target),
    ['n2'],
  )
})

void test('proxies that exit are reported, and faults that do not need them are reverted', async () => {
  const target = new Recorded(5)
  const plan = [
    fault({ kind: 'kill' }, 'n1', { forMs: 60_000 }),
    fault({ kind: 'cut', direction: 'to' }, 'n2', { lane: 1, atMs: 2000 }),
  ]
  const { error } = await ran(plan, target, { afterMs: 1500, does: () => (target.linksFail = true) })
  assert.match(String(error), /the proxies ended/)
  assert.deepEqual([...target.down], [])
})

void test('a slow recovery delays later faults and keeps the planned pause', async () => {
  const target = new Recorded(3)
  target.neverReady = 'n1'
  const plan = [fault({ kind: 'kill' }, 'n1'), fault({ kind: 'kill' }, 'n2', { atMs: 4000 })]
  const does = (): unknown => (target.neverReady = '')
  const { done } = await ran(plan, target, { afterMs: 10_000, does })
  const [first, second] = done
  assert.ok(first !== undefined && second !== undefined)
  assert.ok(second.atMs - (first.endMs + (first.readyMs ?? 0)) >= 1000)
})
