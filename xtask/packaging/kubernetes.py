"""Checks the manifests of a folder: `kubernetes.py FOLDER`. Each one is valid by the schema of the API, and what they say
of each other is true: names, labels, ports and volumes. Containers have no privileges."""

import sys
from pathlib import Path

import kubernetes_validate
import yaml

VERSION = "1.34"
# Kinds that are not part of Kubernetes, with the keys of their specification that are used.
CUSTOM = {"ServiceMonitor": {"selector", "jobLabel", "endpoints"}}


def check(condition, message):
    if not condition:
        sys.exit(f"error: {message}")


def load(folder):
    """The manifests that a kustomization names, with those of the kustomizations that it names."""
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
    check(kustomization["kind"] == "Kustomization", f"{folder}: not a kustomization")
    manifests, labels = [], {}
    for name in kustomization["resources"]:
        path = folder / name
        manifests += load(path) if path.is_dir() else yaml.safe_load_all(path.read_text())
    listed = {folder / name for name in kustomization["resources"]} | {folder / "kustomization.yaml"}
    for path in folder.glob("*.yaml"):
        check(path in listed, f"{path} is not in the kustomization")
    for generator in kustomization.get("configMapGenerator", []):
        files = {name: (folder / name).read_text() for name in generator["files"]}
        metadata = {"name": generator["name"]}
        manifests.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": files})
    for entry in kustomization.get("labels", []):
        labels |= entry["pairs"]
    for manifest in manifests:
        manifest["metadata"]["labels"] = labels | manifest["metadata"].get("labels", {})
    return manifests


def validate(manifest):
    kind = manifest["kind"]
    if kind in CUSTOM:
        unknown = set(manifest["spec"]) - CUSTOM[kind]
        check(not unknown, f"{kind}: unknown keys {unknown}")
    else:
        kubernetes_validate.validate(manifest, VERSION, strict=True)


def matches(selector, labels):
    return bool(selector) and selector.items() <= labels.items()


def check_pod(pod, ports, names, volumes):
    """Checks the containers of a pod, and what they refer to."""
    for container in pod["initContainers"] + pod["containers"]:
        name, security = container["name"], container["securityContext"]
        check(security["readOnlyRootFilesystem"], f"{name} can write to its image")
        check(not security["allowPrivilegeEscalation"], f"{name} can get privileges")
        check(security["capabilities"] == {"drop": ["ALL"]}, f"{name} has capabilities")
        check("memory" in container["resources"]["limits"], f"{name} has no limit of memory")
        for mount in container["volumeMounts"]:
            check(mount["name"] in volumes, f"{name}: there is no volume {mount['name']}")
        for probe in ["startupProbe", "livenessProbe", "readinessProbe"]:
            port = container.get(probe, {}).get("httpGet", {}).get("port")
            check(port is None or port in ports, f"{name}: there is no port {port}")
        for source in container.get("envFrom", []):
            check(("Secret", source["secretRef"]["name"]) in names, "there is no such secret")
    check(pod["securityContext"]["runAsNonRoot"], "the pod runs as root")
    check(not pod["automountServiceAccountToken"], "the pod has a token of the API")


def check_references(manifests):
    names = {(manifest["kind"], manifest["metadata"]["name"]) for manifest in manifests}
    of_kind = lambda kind: [manifest for manifest in manifests if manifest["kind"] == kind]
    [workload], [service] = of_kind("StatefulSet"), of_kind("Service")
    template = workload["spec"]["template"]
    pod, labels = template["spec"], template["metadata"]["labels"]
    ports = {port["name"] for container in pod["containers"] for port in container.get("ports", [])}
    claims = [claim["metadata"]["name"] for claim in workload["spec"]["volumeClaimTemplates"]]
    volumes = {volume["name"] for volume in pod["volumes"]} | set(claims)
    check_pod(pod, ports, names, volumes)
    for volume in pod["volumes"]:
        config = volume.get("configMap", {}).get("name")
        check(config is None or ("ConfigMap", config) in names, f"there is no ConfigMap {config}")
    check(("ServiceAccount", pod["serviceAccountName"]) in names, "there is no such account")
    check(("Service", workload["spec"]["serviceName"]) in names, "there is no such service")
    check(matches(workload["spec"]["selector"]["matchLabels"], labels), "the selector of the workload")
    check(matches(service["spec"]["selector"], labels), "the selector of the service")
    for port in service["spec"]["ports"]:
        check(port["targetPort"] in ports, f"there is no port {port['targetPort']}")
    for budget in of_kind("PodDisruptionBudget"):
        check(matches(budget["spec"]["selector"]["matchLabels"], labels), "the selector of the budget")
    for policy in of_kind("NetworkPolicy"):
        check(matches(policy["spec"]["podSelector"]["matchLabels"], labels), "the selector of the policy")
        for rule in policy["spec"]["ingress"]:
            check({port["port"] for port in rule["ports"]} <= ports, "a port of the policy")
    for monitor in of_kind("ServiceMonitor"):
        check(matches(monitor["spec"]["selector"]["matchLabels"], service["metadata"]["labels"]), "the monitor")
        of_service = {port["name"] for port in service["spec"]["ports"]}
        check({endpoint["port"] for endpoint in monitor["spec"]["endpoints"]} <= of_service, "a port of the monitor")


def main():
    manifests = load(Path(sys.argv[1]))
    for manifest in manifests:
        validate(manifest)
    check_references(manifests)
    print(f"{len(manifests)} manifests are valid")


main()
