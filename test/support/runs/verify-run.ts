import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fixedCredentials } from '../../../src/credentials/credentials.ts'
import type { Endpoint } from '../../../src/credentials/endpoint.ts'
import type { CheckReport } from '../../../tools/verify/finding.ts'
import { runVerify } from '../../../tools/verify/run.ts'
import type { VerifyResult } from '../../../tools/verify/run.ts'
import type { Progress } from '../../../tools/verify/recorder.ts'
import { ProcessCluster } from '../drivers/process-cluster.ts'
import { freshRandom, systemClock } from '../../../fixtures/system.ts'

export type VerifyTraffic = {
  readonly durationMs: number
  readonly clients: number
  readonly objects: number
  readonly rate: number
  readonly seed: number
  /** The timeout of one call. */
  readonly timeoutMs?: number
}

/**
 * Records and judges traffic against endpoints, with the history in a temporary directory.
 *
 * @param isEnough ends the traffic early; its argument is up to a second old
 */
export async function verifyAgainst(
  t: TestContext,
  endpoints: readonly Endpoint[],
  traffic: VerifyTraffic,
  isEnough: (progress: Progress | null) => boolean = () => false,
): Promise<VerifyResult> {
  const stop = new AbortController()
  t.after(() => stop.abort())
  const directory = mkdtempSync(join(tmpdir(), 'verify-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const history = join(directory, 'history.jsonl')
  let progress: Progress | null = null
  const look = setInterval(() => {
    if (isEnough(progress)) stop.abort()
  }, 50)
  try {
    return await runVerify(
      {
        endpoints,
        timeoutMs: 2000,
        ...traffic,
        namespace: null,
        history,
        balanced: false,
        signal: stop.signal,
        onProgress: (current) => {
          progress = current
        },
      },
      { clock: systemClock, random: freshRandom() },
    )
  } finally {
    clearInterval(look)
  }
}

/** The whole result of the checks, for the message of a failed test. */
export function allOf(checks: readonly CheckReport[]): string {
  const lines = checks.map(
    ({ check, verdict, examined, note }) => `${check}: ${verdict}, ${examined} ${note}`,
  )
  for (const { check, anomalies } of checks) {
    for (const { kind, text, witnesses } of anomalies)
      lines.push(`${check}: ${kind}: ${text}`, ...witnesses.map((witness) => `  ${witness.text}`))
  }
  return lines.join('\n')
}

export function endpointsOf({ members, credentials }: ProcessCluster): readonly Endpoint[] {
  const { ca, cert, key } = credentials
  return members.map(({ name, url }) => ({
    ...{ name, url, authority: ca, serverName: null, insecure: false },
    credentials: fixedCredentials({
      identity: cert === undefined || key === undefined ? null : { certificate: cert, key },
    }),
  }))
}

/**
 * Kills and pauses the leader of a real cluster under recorded traffic, and checks every guarantee.
 */
export async function verifyFailovers(t: TestContext, traffic: VerifyTraffic): Promise<void> {
  const cluster = await ProcessCluster.start({ members: 3 })
  t.after(() => cluster.remove())
  const verifying = verifyAgainst(t, endpointsOf(cluster), traffic)
  const recorded = { ended: false }
  const end = verifying.finally(() => {
    recorded.ended = true
  })
  end.catch(() => undefined)
  const endMs = performance.now() + traffic.durationMs
  let [kills, pauses] = [0, 0]
  for (let turn = 0; performance.now() + 3000 < endMs && !recorded.ended; turn++) {
    await sleep(2000)
    const leader = await cluster.leader()
    if (turn % 2 === 0) {
      await leader.stop('SIGKILL')
      kills++
      await sleep(500)
      leader.start()
    } else {
      leader.signal('SIGSTOP')
      pauses++
      await sleep(1500)
      leader.signal('SIGCONT')
    }
    await leader.waitReady()
  }
  const { judgement, history } = await verifying
  const acknowledged = history.calls.filter(
    ({ answer }) => answer.kind === 'object' || answer.kind === 'deleted',
  )
  const unknown = history.calls.filter(({ answer }) => answer.kind === 'unknown')
  console.log(
    `# ${history.calls.length} calls, ${acknowledged.length} of them objects and deletions, ${unknown.length} without ` +
      `an answer, while leaders were killed ${kills} times and paused ${pauses} times: ${judgement.verdict}`,
  )
  for (const { check, verdict, examined } of judgement.checks)
    console.log(`#   ${check}: ${verdict}, ${examined}`)
  assert.equal(judgement.verdict, 'ok', allOf(judgement.checks))
  assert.ok(kills > 0 && acknowledged.length > 0)
}

/**
 * Records traffic while a follower is paused repeatedly, each time for longer than a call lasts, in
 * a cluster that may be broken.
 */
export async function verifyPauses(
  t: TestContext,
  cluster: ProcessCluster,
  traffic: VerifyTraffic,
): Promise<VerifyResult> {
  const endMs = performance.now() + traffic.durationMs
  const verifying = verifyAgainst(t, endpointsOf(cluster), traffic)
  verifying.catch(() => undefined)
  while (performance.now() + 3500 < endMs) {
    await sleep(700)
    const leader = await cluster.leader()
    const follower = cluster.members.find((member) => member !== leader) ?? assert.fail('there is a follower')
    follower.signal('SIGSTOP')
    await sleep(2500)
    follower.signal('SIGCONT')
  }
  return verifying
}
