/* device: opening a device with what an experiment must know of it, and writing that into a record. */
#include "lab/device.h"
#include "gpu/probe.h"
#include "launch/residency.h"

bool lab_device_open(lab_device *d, const gpu_choice *choice, bool measure_copy, err *e)
{
    *d = (lab_device){.no_validation = choice->no_validation, .no_robustness = choice->no_robustness};
    d->g = gpu_open_now(choice, e);
    if (!d->g)
        return false;
    if (!gpu_check_features(d->g, e) || !resident_workgroups(d->g, &d->resident_workgroups, e) ||
        (measure_copy && !gpu_copy_bandwidth(d->g, &d->copy_gbps, e))) {
        lab_device_close(d);
        return false;
    }
    d->info = *gpu_ask_memory(d->g);
    d->wait_mode = gpu_get_wait_mode(d->g);
    return true;
}

void lab_device_close(lab_device *d)
{
    gpu_close(d->g);
    d->g = NULL;
}

static void write_features(const gpu_info *info, jsonw *j)
{
    jsonw_object(j, "features");
    jsonw_flat(j);
    jsonw_bool(j, "subgroups", info->has_subgroups);
    jsonw_array(j, "subgroup_size");
    jsonw_count(j, NULL, info->subgroup_min);
    jsonw_count(j, NULL, info->subgroup_max);
    jsonw_end(j);
    jsonw_bool(j, "f16", info->has_f16);
    jsonw_bool(j, "timestamps", info->has_timestamps);
    jsonw_bool(j, "packed_dot", info->has_packed_dot);
    jsonw_text(j, "matrix", info->matrix_shapes);
    jsonw_bool(j, "replay", info->can_replay);
    jsonw_end(j);
}

static void write_limits(const gpu_info *info, jsonw *j)
{
    jsonw_object(j, "limits");
    jsonw_flat(j);
    jsonw_count(j, "buffer_bytes", info->max_buffer_bytes);
    jsonw_count(j, "storage_binding_bytes", info->max_storage_binding_bytes);
    jsonw_count(j, "uniform_binding_bytes", info->max_uniform_binding_bytes);
    jsonw_count(j, "storage_buffers", info->max_storage_buffers);
    jsonw_count(j, "workgroup_bytes", info->max_workgroup_bytes);
    jsonw_count(j, "workgroup_threads", info->max_workgroup_threads);
    jsonw_count(j, "workgroups", info->max_workgroups);
    jsonw_end(j);
}

static void write_memory(const gpu_info *info, jsonw *j)
{
    jsonw_object(j, "memory");
    jsonw_flat(j);
    if (info->memory_bytes)
        jsonw_count(j, "bytes", info->memory_bytes);
    else
        jsonw_null(j, "bytes");
    if (info->memory_free_bytes)
        jsonw_count(j, "free_bytes", info->memory_free_bytes);
    else
        jsonw_null(j, "free_bytes");
    jsonw_end(j);
}

void lab_device_write(const lab_device *d, jsonw *j, const char *key)
{
    const gpu_info *info = &d->info;
    jsonw_object(j, key);
    jsonw_text(j, "impl", info->impl);
    jsonw_text(j, "impl_version", info->impl_version);
    jsonw_text(j, "backend", info->backend);
    jsonw_text(j, "vendor", info->vendor);
    jsonw_text(j, "device", info->device);
    jsonw_text(j, "driver", info->driver);
    jsonw_text(j, "adapter_type", gpu_type_name(info->type));
    jsonw_text(j, "waits_by", gpu_wait_names[d->wait_mode]);
    write_features(info, j);
    write_limits(info, j);
    write_memory(info, j);
    jsonw_count(j, "resident_workgroups", d->resident_workgroups);
    if (d->copy_gbps > 0)
        jsonw_number(j, "copy_gbps", d->copy_gbps);
    else
        jsonw_null(j, "copy_gbps");
    jsonw_end(j);
}
