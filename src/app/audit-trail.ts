import type { Registry as MetricsRegistry } from 'prom-client'
import { appendedFiles, standardOutput } from '../host/append-file.ts'
import { AuditLogWriter } from '../observe/audit/log-writer.ts'
import type { AuditLogOptions, AuditLogParts } from '../observe/audit/log-writer.ts'
import { AuditMetrics } from '../observe/audit/metrics.ts'
import { AuditPolicyMalformed, auditApiVersion, parseAuditPolicy } from '../observe/audit/policy-file.ts'
import type { AuditPolicy } from '../observe/audit/policy.ts'
import { AuditTrail } from '../observe/audit/trail.ts'
import { readTextFile } from '../pki/files.ts'
import { StartFailure } from './errors.ts'
import type { Site } from './site.ts'

const mebibyte = 1024 * 1024
const dayMs = 24 * 3_600_000

/**
 * What requests leave behind, as the flags say; null: nothing.
 *
 * @throws StartFailure `usage`: the policy is none, or the log cannot be written
 */
export async function openAuditTrail(
  site: Pick<Site, 'config' | 'names' | 'clock' | 'log' | 'closing'>,
  register: MetricsRegistry,
): Promise<AuditTrail | null> {
  const { config, names, clock, log, closing } = site
  const path = config['audit-log-path']
  if (path === '') return null
  const policy = policyOf(config['audit-policy-file'], names)
  const metrics = new AuditMetrics(register)
  const writer = await openLog(
    {
      path,
      bytesMax: path === '-' ? Infinity : (config['audit-log-maxsize'] || defaultMebibytes) * mebibyte,
      backupsMax: path === '-' ? 0 : config['audit-log-maxbackup'],
      backupMsMax: path === '-' ? 0 : config['audit-log-maxage'] * dayMs,
    },
    { clock, log, files: appendedFiles, onLost: (plugin, count) => metrics.lost(plugin, count) },
  )
  closing.add(() => writer.close())
  return new AuditTrail({
    policy,
    names: {
      apiVersion: auditApiVersion(names),
      truncated: `${names.group('audit')}/truncated`,
    },
    mode: config['audit-log-mode'],
    format: config['audit-log-format'],
    writer,
    metrics,
  })
}

/** As upstream's writer has it where nobody says otherwise. */
const defaultMebibytes = 100

function policyOf(path: string, names: Site['names']): AuditPolicy {
  try {
    return parseAuditPolicy(readTextFile(path), names)
  } catch (cause) {
    const words = cause instanceof Error ? cause.message : String(cause)
    const where = cause instanceof AuditPolicyMalformed ? `${path}: ` : ''
    throw new StartFailure('usage', `--audit-policy-file: ${where}${words}`, { cause })
  }
}

async function openLog(options: AuditLogOptions, parts: AuditLogParts): Promise<AuditLogWriter> {
  if (options.path === '-') {
    // Whoever read it may be gone; the write that meets that says so, too.
    process.stdout.on('error', () => undefined)
    const files = { ...parts.files, open: () => Promise.resolve(standardOutput) }
    return AuditLogWriter.open(options, { ...parts, files })
  }
  try {
    return await AuditLogWriter.open(options, parts)
  } catch (cause) {
    const words = cause instanceof Error ? cause.message : String(cause)
    const remedy = 'name a file that this process may write, on a disk with room'
    throw new StartFailure(
      'usage',
      `--audit-log-path ${options.path} cannot be written (${words}): ${remedy}`,
      {
        cause,
      },
    )
  }
}
