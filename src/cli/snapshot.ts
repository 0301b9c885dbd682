import { RealFileBytes } from '../backup/file-bytes.ts'
import { BackupError } from '../backup/errors.ts'
import { PartialFile } from '../backup/partial-file.ts'
import { SnapshotSaver } from '../backup/save-snapshot.ts'
import { SnapshotFile } from '../backup/snapshot-file.ts'
import type { FileHeader } from '../backup/snapshot-format.ts'
import type { StateSummary } from '../backup/snapshot-verifier.ts'
import { verifySnapshot } from '../backup/verify-snapshot.ts'
import { programVersion } from '../version.ts'
import { CliError } from './errors.ts'
import { readEndpoints } from './member-client.ts'
import type { Endpoint } from '../credentials/endpoint.ts'
import { openStream } from './member-stream.ts'
import type { MemberStream } from './member-stream.ts'
import { readSecret } from './secret-file.ts'
import type { SecretFlags } from './secret-file.ts'
import { formatTable } from './terminal.ts'
import type { Format, Terminal } from './terminal.ts'

const path = '/cluster/v1/snapshot'
/** A member may have to wait for its disk before the stream starts. */
const stallMs = 90_000
const progressMs = 1000

export type SaveFlags = SecretFlags & {
  readonly kubeconfig: string
  /** Name or URL of a member; unset: the first one that responds. */
  readonly endpoint?: string
  readonly output: Format
}

/** Writes a consistent copy of the state of the cluster to `file`, or nothing. */
export async function snapshotSave(terminal: Terminal, file: string, flags: SaveFlags): Promise<void> {
  const secret = readSecret(flags)
  const partial = new PartialFile(file, terminal.random)
  try {
    const { endpoint, stream } = await firstStream(chosen(flags))
    const saver = new SnapshotSaver({
      name: `the stream from member ${endpoint.name}`,
      clusterName: clusterNameOf(stream),
      savedAt: new Date(terminal.clock.wallMs()).toISOString(),
      program: programVersion,
      secret,
      random: terminal.random,
      write: (bytes) => partial.write(bytes),
    })
    await copyStream(terminal, { endpoint, stream, saver })
    const { header, summary } = saver.finish()
    partial.commit()
    if (secret === null)
      terminal.note(`warning: ${file} holds every Secret in clear: keep it as safe as the cluster's keys`)
    show(terminal, file, { header, summary, format: flags.output, bytes: partial.bytes })
  } catch (cause) {
    partial.discard()
    throw cause
  }
}

/** Verifies `file` and prints its content. */
export function snapshotVerify(
  terminal: Terminal,
  file: string,
  flags: SecretFlags & { readonly output: Format },
): void {
  const secret = readSecret(flags)
  const bytes = new RealFileBytes(file)
  try {
    const { header, summary } = verifySnapshot(new SnapshotFile(bytes, file), { name: file, secret })
    show(terminal, file, { header, summary, format: flags.output, bytes: bytes.size() })
  } finally {
    bytes.close()
  }
}

function chosen({ kubeconfig, endpoint }: SaveFlags): readonly Endpoint[] {
  const all = readEndpoints(kubeconfig)
  if (endpoint === undefined) return all
  const found = all.filter(({ name, url }) => name === endpoint || url === endpoint)
  if (found.length > 0) return found
  const known = all.map(({ name }) => name).join(', ')
  throw new CliError('failed', `${kubeconfig} has no member ${endpoint}: it has ${known}`)
}

/** Returns the first stream that starts; members that cannot provide one are skipped. */
async function firstStream(
  endpoints: readonly Endpoint[],
): Promise<{ readonly endpoint: Endpoint; readonly stream: MemberStream }> {
  let refusal: CliError | null = null
  for (const endpoint of endpoints) {
    try {
      const stream = await openStream(endpoint, path, stallMs)
      if (stream !== null) return { endpoint, stream }
    } catch (cause) {
      if (!(cause instanceof CliError)) throw cause
      refusal = cause
    }
  }
  const names = endpoints.map(({ name }) => name).join(', ')
  throw refusal ?? new CliError('failed', `no member answers: tried ${names}`)
}

/** @throws BackupError */
async function copyStream(
  terminal: Terminal,
  of: { readonly endpoint: Endpoint; readonly stream: MemberStream; readonly saver: SnapshotSaver },
): Promise<void> {
  const { clock } = terminal
  const { endpoint, stream, saver } = of
  const startMs = clock.monotonicMs()
  let [bytes, reportedMs] = [0, startMs]
  try {
    for await (const piece of stream.pieces) {
      saver.take(piece)
      bytes += piece.byteLength
      const nowMs = clock.monotonicMs()
      if (nowMs - reportedMs < progressMs) continue
      reportedMs = nowMs
      const of = saver.expectedBytes === null ? '' : ` of about ${mebibytes(saver.expectedBytes)}`
      terminal.note(`${mebibytes(bytes)}${of} MiB, ${mebibytes((bytes * 1000) / (nowMs - startMs))} MiB/s`)
    }
  } catch (cause) {
    if (cause instanceof BackupError) throw cause
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new BackupError(
      'incomplete',
      `the stream from member ${endpoint.name} broke off after ${bytes} bytes (${why}): nothing was saved, try again`,
      { cause },
    )
  }
}

function clusterNameOf({ headers }: MemberStream): string {
  const given = headers['orch-cluster-name']
  return typeof given === 'string' ? decodeURIComponent(given) : ''
}

function mebibytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1)
}

function show(
  terminal: Terminal,
  file: string,
  of: {
    readonly header: FileHeader
    readonly summary: StateSummary
    readonly format: Format
    readonly bytes: number
  },
): void {
  const { header, summary, format, bytes } = of
  const { encryption, ...given } = header
  const how = encryption === null ? 'none' : `AES-256-GCM, ${encryption.kind}`
  if (format === 'json') {
    const { versions, resources } = summary
    const all = { file, ...given, encryption: how, bytes, versions, resources }
    return terminal.print(JSON.stringify(all, null, 2))
  }
  const rows = [
    ['SNAPSHOT', file],
    ['cluster', `${header.clusterName} (${header.clusterId}), API domain ${header.apiDomain}`],
    ['saved', `${header.savedAt}, by version ${header.program}`],
    ['revision', String(header.revision)],
    ['log', `index ${header.logIndex}, term ${header.logTerm}, feature level ${header.featureLevel}`],
    ['digest', header.digest],
    ['encryption', how],
    ['size', `${bytes} bytes, ${summary.versions} versions with history`],
  ]
  for (const line of formatTable(rows)) terminal.print(line)
  terminal.print('')
  const counts = summary.resources.map((one) => [one.resource, String(one.objects), String(one.bytes)])
  for (const line of formatTable([['RESOURCE', 'OBJECTS', 'BYTES'], ...counts])) terminal.print(line)
}
