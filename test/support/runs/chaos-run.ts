import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { verifyEndpoints } from '../../../src/cli/verify-endpoints.ts'
import { OrchctlCluster } from '../drivers/orchctl-cluster.ts'
import { allOf, verifyAgainst } from './verify-run.ts'

export type ChaosRun = {
  readonly members: number
  readonly seconds: number
  readonly seed: number
  /** Calls per second of all clients. */
  readonly rate: number
}

/** How long traffic continues after the last fault. */
const restMs = 5000

/**
 * Fewer answers prove too little. On a slow machine many calls get no answer in time: then the
 * traffic continues after the faults, for `lateMs` at most.
 */
const enough = { answers: 200, lateMs: 120_000 }

/**
 * Runs `orchctl chaos` with all faults against a real cluster, under traffic that is recorded and
 * checked as by `orchctl verify`. CHAOS_SEED selects another seed.
 */
export async function chaosRun(
  t: TestContext,
  { members, seconds, seed: usual, rate }: ChaosRun,
): Promise<void> {
  const seed = Number(process.env['CHAOS_SEED'] ?? usual)
  const cluster = await OrchctlCluster.up(t, members, '--chaos')
  const flags = ['--duration', `${seconds}s`, '--seed', String(seed), '--record', 'faults.jsonl']
  const endpoints = verifyEndpoints({ kubeconfig: cluster.kubeconfig })
  assert.equal(endpoints.length, members)
  const chaos = cluster.begin('chaos', 'run', ...flags)
  let restEndMs = Infinity
  const ended = chaos.end.then((result) => {
    restEndMs = performance.now() + restMs
    return result
  })
  const durationMs = seconds * 1000 + restMs + enough.lateMs
  const [{ judgement, history }, { code, out, err }] = await Promise.all([
    verifyAgainst(
      t,
      endpoints,
      { durationMs, clients: 2 + 2 * members, objects: 12, rate, seed },
      (progress) =>
        performance.now() >= restEndMs &&
        progress !== null &&
        progress.acknowledgedWrites + progress.answeredReads >= enough.answers,
    ),
    ended,
  ])
  const reported = `repeat: CHAOS_SEED=${seed}\n${err}\n${out}`
  assert.equal(code, 0, reported)
  for (const line of out.trimEnd().split('\n')) console.log(`# ${line}`)
  const acknowledged = history.calls.filter(({ answer }) => answer.kind === 'object')
  const unknown = history.calls.filter(({ answer }) => answer.kind === 'unknown')
  console.log(
    `# seed ${seed}: ${history.calls.length} calls, ${acknowledged.length} with an object, ${unknown.length} without an ` +
      `answer: ${judgement.verdict}`,
  )
  for (const { check, verdict, examined } of judgement.checks)
    console.log(`#   ${check}: ${verdict}, ${examined}`)
  assert.equal(judgement.verdict, 'ok', `${allOf(judgement.checks)}\n${reported}`)
  assert.ok(acknowledged.length > 0 && history.calls.length - unknown.length >= enough.answers, reported)
  const faults = readFileSync(join(cluster.directory, 'faults.jsonl'), 'utf8').trimEnd().split('\n')
  assert.equal(faults.length, out.trimEnd().split('\n').length)
  assert.ok(faults.length >= seconds / 30, 'faults happened')
}
