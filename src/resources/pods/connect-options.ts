import { flag, int64, listOf, struct, text, texts, time } from '../../api/schema/build.ts'
import type { BodyKind, ConnectSubresource } from '../../registry/kinds/definition.ts'

const stdin = 'Whether the standard input of the caller is passed on.'
const stdout = 'Whether the standard output is returned.'
const stderr = 'Whether the standard error is returned.'
const tty = 'Whether a terminal is allocated.'
const container = 'The container; unset: the only one of the Pod.'

const streams = {
  stdin: flag(1, stdin),
  stdout: flag(2, stdout),
  stderr: flag(3, stderr),
  tty: flag(4, tty),
  container: text(5, container),
}

const execOptionsSchema = struct('core.v1.PodExecOptions', 'Parameters of a command in a container.', {
  ...streams,
  command: texts(6, 'The command and its arguments; it is not run in a shell.', { required: true }),
})

const attachOptionsSchema = struct('core.v1.PodAttachOptions', 'Parameters of an attachment.', streams)

const portForwardOptionsSchema = struct('core.v1.PodPortForwardOptions', 'Ports of a Pod.', {
  ports: listOf(1, { type: 'integer', format: 'int32' }, 'The ports; required for WebSockets.'),
})

const logOptionsSchema = struct('core.v1.PodLogOptions', 'Parameters of the logs of a container.', {
  container: text(1, container),
  follow: flag(2, 'Whether the response goes on with the lines that the container writes later.'),
  previous: flag(3, 'Whether the logs are those of the container before its last restart.'),
  sinceSeconds: int64(4, 'Age in seconds of the oldest lines in the response.', { optional: true }),
  sinceTime: time(5, 'Time of the oldest lines in the response.', { optional: true }),
  timestamps: flag(6, 'Whether each line begins with its time.'),
  tailLines: int64(7, 'How many of the last lines are in the response; unset: all.', { optional: true }),
  limitBytes: int64(8, 'Maximum number of bytes in the response.', { optional: true }),
  insecureSkipTLSVerifyBackend: flag(9, 'Whether the certificate of the node agent is not verified.'),
})

function optionsOf(
  kind: string,
  schema: BodyKind['schema'],
): Pick<ConnectSubresource, 'options' | 'parameters'> {
  return { options: { group: '', version: 'v1', kind, schema }, parameters: schema }
}

/** Logs are read, not connected to: admission does not see them, as upstream. */
const log: ConnectSubresource = {
  ...{ name: 'log', verbs: ['get'], connects: 'log' },
  options: null,
  parameters: logOptionsSchema,
}

const streamVerbs = ['create', 'get'] as const

/** The connections to containers of a Pod, through the agent of its node. */
export const podConnections: readonly ConnectSubresource[] = [
  {
    ...{ name: 'attach', verbs: streamVerbs, connects: 'attach' },
    ...optionsOf('PodAttachOptions', attachOptionsSchema),
  },
  {
    ...{ name: 'exec', verbs: streamVerbs, connects: 'exec' },
    ...optionsOf('PodExecOptions', execOptionsSchema),
  },
  log,
  {
    ...{ name: 'portforward', verbs: streamVerbs, connects: 'portforward' },
    ...optionsOf('PodPortForwardOptions', portForwardOptionsSchema),
  },
]

/** Returns the subresource of a kind that proxies requests to its objects. */
export function proxyOf(kind: 'Pod' | 'Service' | 'Node'): ConnectSubresource {
  const schema = struct(`core.v1.${kind}ProxyOptions`, `Parameters of a proxy of a ${kind}.`, {
    path: text(1, 'The path at the target.'),
  })
  return {
    ...{ name: 'proxy', verbs: ['create', 'delete', 'get', 'patch', 'update'], connects: 'proxy' },
    ...optionsOf(`${kind}ProxyOptions`, schema),
  }
}
