import type { Registry as MetricsRegistry } from 'prom-client'
import { appendedFiles } from '../host/append-file.ts'
import { AuditLogWriter } from '../audit/audit-log-writer.ts'
import type { AuditLogOptions, AuditLogDependencies } from '../audit/audit-log-writer.ts'
import { AuditMetrics } from '../audit/audit-metrics.ts'
import { AuditPolicyMalformed, auditApiVersion, parseAuditPolicy } from '../audit/policy-file.ts'
import type { AuditPolicy } from '../audit/audit-policy.ts'
import { AuditTrail } from '../audit/audit-trail.ts'
import { AuditWebhook } from '../audit/audit-webhook.ts'
import { readClientConfig } from '../pki/client-config.ts'
import type { ClientConfig } from '../pki/client-config.ts'
import { PkiError } from '../pki/errors.ts'
import { readTextFile } from '../pki/files.ts'
import { HttpAuditReceiver } from '../audit/http-audit-receiver.ts'
import type { OutwardDependencies } from '../outward/outward-client.ts'
import { StartError } from '../config/start-error.ts'
import type { MemberContext } from './context.ts'

type AuditSite = Pick<MemberContext, 'config' | 'names' | 'clock' | 'random' | 'log' | 'output' | 'closing'>

const mebibyte = 1024 * 1024
const dayMs = 24 * 3_600_000

/**
 * Opens the audit trail that the flags configure. Returns null without `--audit-policy-file`.
 *
 * @throws StartError `usage`: a file is invalid, or the log cannot be written
 */
export async function openAuditTrail(site: AuditSite, register: MetricsRegistry): Promise<AuditTrail | null> {
  const { config, names } = site
  if (config['audit-policy-file'] === '') return null
  const policy = policyOf(config['audit-policy-file'], names)
  const metrics = new AuditMetrics(register)
  return new AuditTrail({
    policy,
    names: {
      apiVersion: auditApiVersion(names),
      truncated: `${names.group('audit')}/truncated`,
    },
    mode: config['audit-log-mode'],
    format: config['audit-log-format'],
    webhook: webhookOf(site, metrics),
    log: await logOf(site, metrics),
    metrics,
  })
}

function policyOf(path: string, names: MemberContext['names']): AuditPolicy {
  try {
    return parseAuditPolicy(readTextFile(path), names)
  } catch (cause) {
    const words = cause instanceof Error ? cause.message : String(cause)
    const where = cause instanceof AuditPolicyMalformed ? `${path}: ` : ''
    throw new StartError('usage', `--audit-policy-file: ${where}${words}`, { cause })
  }
}

function webhookOf(
  { config, names, clock, random, log, closing }: AuditSite,
  metrics: AuditMetrics,
): AuditWebhook | null {
  const path = config['audit-webhook-config-file']
  if (path === '') return null
  const { client, receiver } = receiverOf(path, { clock, random })
  const webhook = new AuditWebhook(
    {
      apiVersion: auditApiVersion(names),
      // Without credentials that a URL may contain.
      url: `${client.url.origin}${client.url.pathname}`,
      batchMsMax: config['audit-webhook-batch-max-wait'],
      backOffMs: config['audit-webhook-initial-backoff'],
    },
    { clock, random, receiver, log, onLost: (plugin, count) => metrics.lost(plugin, count) },
  )
  closing.add(async () => {
    await webhook.close()
    receiver.close()
  })
  return webhook
}

function receiverOf(
  path: string,
  dependencies: OutwardDependencies,
): { readonly client: ClientConfig; readonly receiver: HttpAuditReceiver } {
  try {
    const client = readClientConfig(path)
    return { client, receiver: new HttpAuditReceiver(client, dependencies) }
  } catch (cause) {
    const words = cause instanceof Error ? cause.message : String(cause)
    const where = cause instanceof PkiError ? '' : `${path}: `
    throw new StartError('usage', `--audit-webhook-config-file: ${where}${words}`, { cause })
  }
}

/** Upstream's default. */
const defaultMebibytes = 100

async function logOf(
  { config, clock, log, output, closing }: AuditSite,
  metrics: AuditMetrics,
): Promise<AuditLogWriter | null> {
  const path = config['audit-log-path']
  if (path === '') return null
  const standard = { ...appendedFiles, open: () => Promise.resolve(output) }
  const files = path === '-' ? standard : appendedFiles
  const writer = await openLog(
    {
      path,
      bytesMax: path === '-' ? Infinity : (config['audit-log-maxsize'] || defaultMebibytes) * mebibyte,
      backupsMax: path === '-' ? 0 : config['audit-log-maxbackup'],
      backupMsMax: path === '-' ? 0 : config['audit-log-maxage'] * dayMs,
    },
    { clock, log, files, onLost: (plugin, count) => metrics.lost(plugin, count) },
  )
  closing.add(() => writer.close())
  return writer
}

async function openLog(
  options: AuditLogOptions,
  dependencies: AuditLogDependencies,
): Promise<AuditLogWriter> {
  try {
    return await AuditLogWriter.open(options, dependencies)
  } catch (cause) {
    const words = cause instanceof Error ? cause.message : String(cause)
    const remedy = 'name a file that this process may write, on a disk with free space'
    throw new StartError(
      'usage',
      `--audit-log-path ${options.path} cannot be written (${words}): ${remedy}`,
      {
        cause,
      },
    )
  }
}
