import type { Findings } from '../../api/errors/findings.ts'
import { invalid, required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { numberMember } from '../../api/json.ts'
import { checkPortName } from '../../api/metadata/name-rules.ts'
import { int32, struct, text } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'
import { checkPortNumber } from './port.ts'

export const containerPortSchema = struct(
  'core.v1.ContainerPort',
  'A port that a container listens on.',
  {
    name: text(1, 'Name of the port, unique in the container.', {
      rule: checkPortName,
    }),
    hostPort: int32(2, 'Port of the node that is forwarded to the container; 0 means none.'),
    containerPort: int32(3, 'Port in the network of the Pod.', { required: true, always: true }),
    protocol: text(4, 'TCP, UDP or SCTP.', { default: 'TCP', enum: ['SCTP', 'TCP', 'UDP'] }),
    hostIP: text(5, 'Node address that the host port binds to; all addresses when unset.'),
  },
  { check: checkNumbers },
)

function checkNumbers(port: JsonObject, at: Path | null, found: Findings): void {
  const containerPort = numberMember(port, 'containerPort')
  if (containerPort === 0) found.add(required(fieldAt(at, 'containerPort')))
  else {
    if (containerPort !== null) {
      for (const words of checkPortNumber(containerPort)) {
        found.add(invalid(fieldAt(at, 'containerPort'), containerPort, words))
      }
    }
  }
  const hostPort = numberMember(port, 'hostPort') ?? 0
  if (hostPort === 0) return
  for (const words of checkPortNumber(hostPort)) found.add(invalid(fieldAt(at, 'hostPort'), hostPort, words))
}
